"""
What coverage, CRPS and PIT mean
================================

Three pictures of the words that this documentation uses. No model is fitted: the response is standard normal, and the
predictions are normal distributions that are too narrow, right, too wide or shifted.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm

from diffgbm import PredictiveDistribution, metrics
from diffgbm.plotting import pit_histogram

BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "0.75"
rng = np.random.default_rng(0)
y = rng.standard_normal(2000)


def prediction(mean, std):
    """The same normal distribution for every row."""
    points = mean + std * norm.ppf((np.arange(256) + 0.5) / 256)
    return PredictiveDistribution.from_points(np.tile(points, (len(y), 1)))


predictions = {
    "too narrow": prediction(0.0, 0.5),
    "right": prediction(0.0, 1.0),
    "too wide": prediction(0.0, 2.0),
    "shifted": prediction(0.8, 1.0),
}

# %%
# **Coverage** is the share of observations inside their interval; a 90% interval should cover 90%.

figure, panels = plt.subplots(1, 3, figsize=(10, 3.4), sharey=True, layout="constrained")
for ax, name in zip(panels, ["too narrow", "right", "too wide"]):
    lower, upper = predictions[name].interval(0.9)[0]
    inside = (lower <= y) & (y <= upper)
    ax.axhspan(lower, upper, color=BLUE, alpha=0.18, lw=0)
    for chosen, colour in ((inside, BLUE), (~inside, ORANGE)):
        ax.plot(np.flatnonzero(chosen[:80]), y[:80][chosen[:80]], "o", color=colour, markersize=4)
    ax.set(title=f"{name}: covers {inside.mean():.0%}", xlabel="row", ylim=(-4, 4))
    ax.spines[["top", "right"]].set_visible(False)
panels[0].set_ylabel("y, with its 90% interval")

# %%
# **CRPS** is the squared distance between the predicted distribution function and the step at the observation, summed
# over all values. It is small if the prediction is close to the observation and not wider than it needs to be.

figure, panels = plt.subplots(1, 3, figsize=(10, 3.4), sharey=True, layout="constrained")
grid = np.linspace(-5, 5, 600)
observed = 0.6
for ax, name in zip(panels, ["right", "too wide", "shifted"]):
    one = predictions[name][:1]
    cdf, step = one.cdf(grid[None])[0], (grid >= observed).astype(float)
    ax.fill_between(grid, (cdf - step) ** 2, color=ORANGE, alpha=0.4, lw=0, label="squared distance")
    ax.plot(grid, cdf, color=BLUE, lw=1.8, label="predicted")
    ax.plot(grid, step, color="#222222", lw=1.2, label="observation")
    mean = metrics.crps(predictions[name], y).mean()
    ax.set(title=f"{name}: CRPS {one.crps([observed])[0]:.2f}, mean {mean:.2f}", xlabel="y")
    ax.spines[["top", "right"]].set_visible(False)
panels[0].legend(frameon=False, loc="upper left", fontsize=8)
panels[0].set_ylabel("P(Y ≤ y)")
for name, dist in predictions.items():
    print(f"{name:<11} mean CRPS {metrics.crps(dist, y).mean():.3f}, coverage {metrics.coverage(dist, y, 0.9):.2f}")

# %%
# The mean CRPS over many observations is lowest for the right distribution, although a single observation may favour
# another one.
#
# **PIT** values, the predicted distribution function at the observation, are uniform if the prediction is calibrated.

figure, panels = plt.subplots(1, 4, figsize=(12, 3.2), sharey=True, layout="constrained")
for ax, (name, dist) in zip(panels, predictions.items()):
    pit_histogram(dist, y, bins=10, ax=ax)
    ax.get_legend().remove()
    ax.set(title=name, ylabel="rows" if ax is panels[0] else "")
