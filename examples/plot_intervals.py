"""
Intervals in one call
=====================

The power of a wind turbine against the wind at a mast nearby: nearly nothing in a light wind, a steep rise, and a
plateau. The turbine feels a slightly different wind than the mast, which matters where the curve is steep and hardly
at all on the plateau. One model gives the interval, however wide or lopsided it is, and every other quantile as well.
"""

import matplotlib.pyplot as plt
import numpy as np

from diffgbm import AutoDiffGBM, metrics
from diffgbm.plotting import fan

rng = np.random.default_rng(0)


def measure(n):
    """Wind at the mast in m/s, and the power in MW of a turbine that feels a slightly different wind."""
    wind = rng.gamma(4.0, 2.1, n)
    felt = wind + rng.standard_normal(n)
    return wind[:, None], 2.0 / (1.0 + np.exp(-0.9 * (felt - 8.5))) + 0.03 * rng.standard_normal(n)


X, y = measure(2000)
X_new, y_new = measure(1000)

# %%
# Fit, and ask for the interval that covers nine in ten:

model = AutoDiffGBM(preset="fast", time_limit=60, n_jobs=1, seed=0).fit(X, y)
lower, upper = model.predict_interval(X_new, coverage=0.9).T
print(f"inside the 90% interval: {np.mean((lower <= y_new) & (y_new <= upper)):.1%} of {len(y_new)} new rows")

# %%
# On rows that the model has not seen, the share is close to 90%. This is an average over all winds. The picture shows
# how different the intervals are.

dist = model.predict_distribution(X_new)
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), width_ratios=[1.6, 1], layout="constrained")
fan(X_new[:, 0], dist, y_new, ax=left)
left.set(xlabel="wind, m/s", ylabel="power, MW", xlim=(0, 20), title="median and intervals of new rows")
order = np.argsort(X_new[:, 0])
right.plot(X_new[order, 0], (upper - lower)[order], color="#D55E00", lw=1.5)
right.set(xlabel="wind, m/s", ylabel="width of the 90% interval, MW", xlim=(0, 20), ylim=(0, None))
right.spines[["top", "right"]].set_visible(False)

# %%
# All quantiles come from the same distribution, so they never cross. One number scores all of them: the CRPS (lower is
# better), in the units of the response. Skill compares it with predicting the training responses for every row.

q = model.predict_quantiles(X_new, [0.05, 0.25, 0.5, 0.75, 0.95])
print("quantiles increase in every row:", bool((np.diff(q, axis=1) >= 0).all()))
print(f"CRPS {metrics.crps(dist, y_new).mean():.3f} MW, skill {metrics.crpss(dist, y_new, y):.2f}")
