"""
Calibration: do intervals attain nominal coverage?
==================================================

A model is calibrated if events happen as often as it predicts. Three pictures show it, on rows that the model has
not seen. :class:`diffgbm.ConformalDiffGBM` then gives intervals with a guarantee.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from diffgbm import ConformalDiffGBM, DiffGBM, metrics
from diffgbm.plotting import coverage_by_iqr, pit_histogram, reliability

X, y = load_diabetes(return_X_y=True)
X, X_new, y, y_new = train_test_split(X, y, test_size=0.4, random_state=0)

# %%
# A model that learns too much from 265 rows: large trees, small leaves, no early stopping. Its distributions are too
# narrow.

settings = {"n_estimators": 120, "num_leaves": 31, "min_child_samples": 5, "early_stopping_rounds": None}
overfitted = DiffGBM.published(**settings, n_jobs=1, seed=0).fit(X, y)
distribution = overfitted.predict_distribution(X_new)

figure, panels = plt.subplots(1, 3, figsize=(12.5, 4), layout="constrained")
pit_histogram(distribution, y_new, bins=10, ax=panels[0])
reliability(distribution, y_new, ax=panels[1])
coverage_by_iqr(distribution, y_new, bins=4, ax=panels[2])
panels[0].set_title("PIT: a trough means too narrow")
panels[1].set_title("reliability: below the diagonal")
panels[2].set_title("90% intervals, by predicted width")

# %%
# The same in numbers:

print(f"coverage of 90% intervals: {metrics.coverage(distribution, y_new, 0.9):.1%} of {len(y_new)} new rows")
print(f"Kolmogorov-Smirnov test of uniform PIT values: p = {metrics.pit_ks(distribution, y_new).pvalue:.1g}")

# %%
# Two remedies. Give the trees less freedom, as the flow recipe with large leaves does. Or calibrate: conformal
# intervals are widened by the errors on rows that the model has not seen. They make any model honest, not better.

flow = {"n_estimators": 150, "learning_rate": 0.05, "min_child_samples": 60, "n_jobs": 1, "seed": 0}
models = {
    "overfitted": overfitted,
    "overfitted, conformal": ConformalDiffGBM(DiffGBM.published(**settings, n_jobs=1, seed=0), method="cv", seed=0).fit(
        X, y
    ),
    "flow": DiffGBM.flow(**flow).fit(X, y),
    "flow, conformal": ConformalDiffGBM(DiffGBM.flow(**flow), method="cv", seed=0).fit(X, y),
}
results = {}
for name, model in models.items():
    lower, upper = model.predict_interval(X_new, coverage=0.9).T
    results[name] = np.mean((lower <= y_new) & (y_new <= upper)), np.mean(upper - lower)
    print(f"{name:<21} covers {results[name][0]:.1%}, mean width {results[name][1]:.0f}")

# %%
# With 177 new rows the standard error of a coverage of 90% is 2.3 points. The overfitted model misses by far more
# than that, the others are within sampling error.

figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
error = 1.96 * np.sqrt(0.9 * 0.1 / len(y_new))
ax.axvspan(0.9 - error, 0.9 + error, color="0.9", label="90% ± sampling error")
ax.axvline(0.9, color="#222222", ls="--", lw=1)
for name, (coverage, width) in results.items():
    ax.plot(coverage, width, "o", markersize=9, color="#0072B2" if "conformal" in name else "#D55E00")
    ax.annotate(name, (coverage, width), (9, -3), textcoords="offset points", fontsize=9)
ax.set(xlabel="coverage of new rows", ylabel="mean width of the interval", xlim=(0.73, 1.02), ylim=(125, 225))
ax.legend(frameon=False, loc="upper left")
ax.spines[["top", "right"]].set_visible(False)
