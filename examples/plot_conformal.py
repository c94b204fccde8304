"""
A coverage guarantee for a fitted model
=======================================

``ConformalDiffGBM(model).calibrate(X, y)`` takes a model that is already fitted and rows that it has not seen, and
gives intervals that cover new rows with the probability you ask for, whatever the model. It makes a model honest, not
better: the overconfident model below gets wide intervals, the good one hardly changes.
"""

import matplotlib.pyplot as plt
import numpy as np

from diffgbm import ConformalDiffGBM, DiffGBM

rng = np.random.default_rng(0)
BLUE, ORANGE = "#0072B2", "#D55E00"


def draw(n):
    """A sine wave in the first column whose noise grows with it; four more columns that mean nothing."""
    X = rng.uniform(0.0, 1.0, (n, 5))
    return X, np.sin(6 * X[:, 0]) + (0.05 + 0.6 * X[:, 0]) * rng.standard_normal(n)


X, y = draw(500)  # to fit
X_cal, y_cal = draw(600)  # to calibrate
X_new, y_new = draw(3000)  # to check

# %%
# Two models. The first learns too much from 500 rows: small leaves, many trees, no early stopping.

models = {
    "overconfident": DiffGBM.flow(
        n_estimators=200, min_child_samples=5, early_stopping_rounds=None, n_jobs=1, seed=0
    ).fit(X, y),
    "good": DiffGBM.flow(n_estimators=200, min_child_samples=500, n_jobs=1, seed=0).fit(X, y),
}

# %%
# Calibrate both, and compare. Nothing is fitted again: only the width changes.

results = {}
for name, model in models.items():
    calibrated = ConformalDiffGBM(model).calibrate(X_cal, y_cal)
    for kind, m in (("as fitted", model), ("calibrated", calibrated)):
        lower, upper = m.predict_interval(X_new, coverage=0.9).T
        results[name, kind] = np.mean((lower <= y_new) & (y_new <= upper)), np.mean(upper - lower)
        print(f"{name:<14} {kind:<11} covers {results[name, kind][0]:.1%}, mean width {results[name, kind][1]:.2f}")

# %%
# Calibrated on 600 rows, the coverage of a particular model varies by about 1.2 points around 90%.
#
# The guarantee is about the average row. One width is added everywhere, so the overconfident model covers too much
# where the noise is small and too little where it is large. ``groups="interquartile_range"`` calibrates within groups
# of rows by predicted interquartile range, ``groups="column"`` by a column of ``X``.

overconfident = models["overconfident"]
kinds = {
    "as fitted": overconfident,
    "calibrated": ConformalDiffGBM(overconfident).calibrate(X_cal, y_cal),
    "calibrated within fifths of x": ConformalDiffGBM(overconfident, groups=0).calibrate(X_cal, y_cal),
}
figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4), layout="constrained")
for k, ((name, kind), (coverage, width)) in enumerate(results.items()):
    left.barh(k, coverage, color=BLUE if kind == "calibrated" else ORANGE, alpha=0.8)
    left.text(0.02, k, f"{name}, {kind}: mean width {width:.2f}", va="center", color="white", fontsize=9)
left.axvline(0.9, color="#222222", ls="--", lw=1)
left.set(title="two models", xlabel="coverage of new rows", xlim=(0.0, 1.0), yticks=[])
left.invert_yaxis()

fifth = np.minimum((5 * X_new[:, 0]).astype(int), 4)
for (name, model), colour in zip(kinds.items(), (ORANGE, BLUE, "#009E73")):
    lower, upper = model.predict_interval(X_new, coverage=0.9).T
    inside = (lower <= y_new) & (y_new <= upper)
    right.plot(range(5), [inside[fifth == k].mean() for k in range(5)], "o-", color=colour, label=name)
right.axhline(0.9, color="#222222", ls="--", lw=1)
right.set(
    title="the overconfident model",
    xlabel="fifth of x",
    ylabel="coverage of new rows",
    xticks=range(5),
    xticklabels=range(1, 6),
    ylim=(0.5, 1.0),
)
right.legend(frameon=False, loc="lower left", fontsize=9)
for ax in (left, right):
    ax.spines[["top", "right"]].set_visible(False)
