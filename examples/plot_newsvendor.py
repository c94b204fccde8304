"""
A decision from samples: how much to order
==========================================

A kiosk buys papers at 1.00 and sells them at 1.60; what is left at night is worth 0.10. How many should it order? The
best order is a quantile of the demand, and the demand is skewed and depends on the day. With samples you need no
formula: compute the profit of each order in each scenario and take the best.
"""

import matplotlib.pyplot as plt
import numpy as np

from diffgbm import DiffGBM

rng = np.random.default_rng(0)
PRICE, COST, SALVAGE = 1.60, 1.00, 0.10


def days(n):
    """Temperature and weekend; the demand is a skewed count that is larger, and less certain, on warm weekends."""
    temperature, weekend = rng.uniform(0.0, 30.0, n), rng.integers(0, 2, n)
    mean = 40 + 1.5 * temperature + 40 * weekend
    shape = np.where(weekend == 1, 3.0, 12.0)
    return np.column_stack([temperature, weekend]), rng.poisson(rng.gamma(shape, mean / shape)).astype(float)


def profit(order, demand):
    """What is earned with an order when the demand is known."""
    return PRICE * np.minimum(order, demand) + SALVAGE * np.maximum(order - demand, 0.0) - COST * order


X, y = days(2500)
X_new, y_new = days(1500)
model = DiffGBM(residualize="off", n_estimators=150, min_child_samples=60, n_jobs=1, seed=0).fit(X, y)

# %%
# One warm weekend. The expected profit of every order, over 3,000 scenarios:

scenarios = model.sample(np.array([[25.0, 1.0]]), n_samples=3000, seed=1)[:, 0]
orders = np.arange(20, 260)
expected = np.array([profit(order, scenarios).mean() for order in orders])
best = orders[expected.argmax()]
print(f"mean demand {scenarios.mean():.0f}; best order {best}, expected profit {expected.max():.2f}")

# %%
# The best order lies below the mean demand: a paper too many costs 0.90, one too few 0.60. It is the quantile at 0.60
# / (0.60 + 0.90) = 0.4, which the model gives directly for all rows:

ratio = (PRICE - COST) / (PRICE - SALVAGE)
order = model.predict_quantiles(X_new, ratio)[:, 0]
print(f"the quantile {ratio:.1f} of the same day: {model.predict_quantiles([[25.0, 1.0]], ratio)[0, 0]:.0f}")

# %%
# Does it pay? The profit on new days, beside that of ordering the mean, and beside that of one order for all days
# (the same quantile of all training days):

policies = {
    "quantile of the day": order,
    "mean of the day": model.predict(X_new),
    "one order for all days": np.full(len(X_new), np.quantile(y, ratio)),
}
earned = {name: profit(np.round(order), y_new) for name, order in policies.items()}
for name, money in earned.items():
    print(f"{name:<23} {money.mean():6.2f} a day")
gain = earned["quantile of the day"] - earned["mean of the day"]
print(f"quantile against mean: {gain.mean():.2f} ± {gain.std() / len(gain) ** 0.5:.2f} (standard error) a day")

# %%
# Ordering the mean costs money although the mean is predicted well: the use decides which number of the distribution
# you need.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.9), layout="constrained")
left.hist(scenarios, np.arange(0, 330, 8), color="#0072B2", alpha=0.35)
for value, label, colour in ((best, "best order", "#D55E00"), (scenarios.mean(), "mean demand", "#222222")):
    left.axvline(value, color=colour, lw=1.6, label=f"{label}, {value:.0f}")
left.set(xlabel="demand on a warm weekend", ylabel="scenarios", title="3,000 scenarios of one day")
right.plot(orders, expected, color="#0072B2", lw=1.8)
right.plot(best, expected.max(), "o", color="#D55E00", markersize=7)
at_mean = profit(round(scenarios.mean()), scenarios).mean()
right.plot(scenarios.mean(), at_mean, "o", color="#222222", markersize=7)
lost = f"ordering the mean\nloses {expected.max() - at_mean:.2f} a day"
right.annotate(lost, (scenarios.mean(), at_mean), (12, -4), textcoords="offset points", fontsize=9)
right.set(xlabel="order", ylabel="expected profit", title="expected profit of each order", ylim=(0, None))
left.legend(frameon=False)
for ax in (left, right):
    ax.spines[["top", "right"]].set_visible(False)
