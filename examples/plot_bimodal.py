"""
A target with two branches
==========================

Some rows have two plausible outcomes and nothing in between: a flight that is on time or misses its slot, a customer
who buys much or little. The mean, or a normal distribution around it, then predicts an outcome that never happens.
DiffGBM assumes no family of distributions: it learns the branches.
"""

import matplotlib.pyplot as plt
import numpy as np

from diffgbm import DiffGBM
from diffgbm.plotting import densities

rng = np.random.default_rng(0)


def draw(n):
    """Two branches that part as x grows; the upper one has probability 0.65."""
    x = rng.uniform(0.0, 1.0, n)
    sign = np.where(rng.uniform(size=n) < 0.65, 1.0, -1.0)
    return x[:, None], sign * (0.3 + 1.8 * x**2) + (0.08 + 0.22 * x) * rng.standard_normal(n)


X, y = draw(3000)

# %%
# The mean does not say where the branches are, so it is not subtracted from the response (``residualize="off"``).
# Large leaves (they count noisy copies, 30 of each row) keep the distribution smooth:

model = DiffGBM(residualize="off", n_estimators=250, min_child_samples=300, learning_rate=0.1, n_jobs=1, seed=0).fit(
    X, y
)

# %%
# The distributions of three rows. The true probability of the upper branch is 0.65 everywhere.

rows = np.array([[0.1], [0.55], [0.95]])
distribution = model.predict_distribution(rows, grid=1597)  # many points: a smooth density
for x, mean, near, above in zip(
    rows[:, 0],
    distribution.mean(),
    distribution.prob_between(distribution.mean() - 0.2, distribution.mean() + 0.2),
    distribution.sf(0.0),
):
    print(f"x = {x:.2f}: mean {mean:.2f}; P(within 0.2 of the mean) = {near:.2f}; P(y > 0) = {above:.2f}")

# %%
# At ``x = 0.95`` hardly anything happens close to the mean, and P(y > 0) is close to the truth in all three rows.

x = np.linspace(0.0, 1.0, 160)
grid = np.linspace(-3.2, 3.2, 240)
density = model.predict_distribution(x[:, None], grid=610).smooth_pdf(grid[None])
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), width_ratios=[1.35, 1], layout="constrained")
left.pcolormesh(x, grid, np.sqrt(density.T), cmap="Blues", shading="gouraud", vmax=1.3)
left.plot(X[:900, 0], y[:900], "o", color="0.25", markersize=1.6, markeredgewidth=0, alpha=0.6, label="data")
left.plot(x, model.predict(x[:, None]), color="#D55E00", lw=1.6, label="mean")
left.set(xlabel="x", ylabel="y", ylim=(-3.2, 3.2), title="learned density")
left.legend(frameon=False, loc="upper left")
densities(distribution, ax=right)
right.legend([f"x = {v:.2f}" for v in rows[:, 0]], frameon=False)
right.set(title="three rows", xlabel="y")

# %%
# Scenarios follow the branches too. A decision that depends on which one happens should be made from samples, not
# from a mean: here is the share of 2,000 samples on the upper branch, and the average distance of a sample from the
# nearer branch.

samples = model.sample(rows, n_samples=2000, seed=1)
branch = 0.3 + 1.8 * rows[:, 0] ** 2
print("share of samples on the upper branch:", np.round((samples > 0).mean(axis=0), 2))
print("mean distance from the nearer branch:", np.round(np.abs(np.abs(samples) - branch).mean(axis=0), 2))
print("which is, for the truth,             ", np.round((0.08 + 0.22 * rows[:, 0]) * np.sqrt(2 / np.pi), 2))
