"""
Several responses, one scenario
===============================

Sales of two products: on dry days they are independent, in the rain both depend on how long it lasts. One lorry brings
both, so their sum counts. A joint distribution knows whether they are large *together*; two separate distributions do
not.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.stats import norm

from diffgbm import DiffGBM, metrics

rng = np.random.default_rng(0)


def days(n):
    """Chance of rain, and the sales of two products whose correlation grows from 0 to 0.9 with it."""
    rain = rng.uniform(0.0, 1.0, n)
    correlation = 0.9 * rain
    a = rng.standard_normal(n)
    b = correlation * a + np.sqrt(1 - correlation**2) * rng.standard_normal(n)
    frame = pd.DataFrame({"umbrellas": 100 + 40 * rain + 20 * a, "boots": 60 + 20 * rain + 15 * b})
    return pd.DataFrame({"rain": rain}), frame


X, Y = days(2500)
model = DiffGBM(residualize="off", n_estimators=200, min_child_samples=100, n_jobs=1, seed=0).fit(X, Y)

# %%
# One dry and one wet day. ``predict_distribution`` gives joint distributions;
# ``distribution["boots"]`` is the distribution of one response.

two_days = pd.DataFrame({"rain": [0.05, 0.95]})
distribution = model.predict_distribution(two_days)
correlation = distribution.correlation()[:, 0, 1]
print("learned correlation: dry %.2f, wet %.2f (truth: %.2f, %.2f)" % (*correlation, 0.9 * 0.05, 0.9 * 0.95))

# %%
# The probability that the lorry is too small, by joint scenarios and by scenarios whose responses were shuffled
# independently. The truth is a normal distribution.

capacity = 260.0
samples = model.sample(two_days, n_samples=4000, seed=1)  # (4000, 2 days, 2 products)
shuffled = np.stack([samples[:, :, 0], rng.permuted(samples[:, :, 1], axis=0)], axis=-1)
rain = two_days["rain"].to_numpy()
std = np.sqrt(20**2 + 15**2 + 2 * 0.9 * rain * 20 * 15)
truth = norm.sf(capacity, 160 + 60 * rain, std)
for day, name in enumerate(["dry", "wet"]):
    joint, alone = ((s[:, day].sum(axis=1) > capacity).mean() for s in (samples, shuffled))
    print(f"P(sum > 260), {name} day: joint {joint:.3f}, as if independent {alone:.3f}, truth {truth[day]:.3f}")

# %%
# On the wet day independent scenarios underestimate the probability by more than half: the risk is in the dependence,
# most of which the joint scenarios capture. The picture shows the scenarios and the capacity.

figure, panels = plt.subplots(1, 3, figsize=(11, 3.9), sharex=True, sharey=True, layout="constrained")
shown = [(samples[:, 0], "dry day"), (samples[:, 1], "wet day"), (shuffled[:, 1], "wet day, as if independent")]
for ax, (points, title) in zip(panels, shown):
    over = points.sum(axis=1) > capacity
    ax.plot(*points[~over].T, "o", color="#0072B2", markersize=1.8, markeredgewidth=0, alpha=0.45)
    ax.plot(
        *points[over].T, "o", color="#D55E00", markersize=2.2, markeredgewidth=0, label=f"too many: {over.mean():.1%}"
    )
    ax.axline((160, 100), slope=-1, color="#222222", lw=1, ls="--")
    ax.set(title=title, xlabel="umbrellas", xlim=(40, 220), ylim=(10, 140))
    ax.legend(frameon=False, loc="lower left")
    ax.spines[["top", "right"]].set_visible(False)
panels[0].set_ylabel("boots")

# %%
# The energy score generalises the CRPS to joint distributions; lower is better. On new days the joint scenarios have
# the lower one.

X_new, Y_new = days(150)
samples = model.sample(X_new, n_samples=100, seed=2)
shuffled = np.stack([samples[:, :, 0], rng.permuted(samples[:, :, 1], axis=0)], axis=-1)
energy = [metrics.energy_score(s, Y_new.to_numpy()).mean() for s in (samples, shuffled)]
print("energy score: joint %.3f, shuffled %.3f" % tuple(energy))
