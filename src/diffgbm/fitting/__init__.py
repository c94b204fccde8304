"""One model: noisy copies, boosters, bags, training, and what was fitted."""
