"""
Inside a scikit-learn pipeline
==============================

``DiffGBM`` is a scikit-learn estimator: it can be cloned, put behind transformers, cross-validated and searched.
Optimise a proper score of the whole distribution: ``metrics.crps_scorer`` is one for ``scoring=``.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from diffgbm import DiffGBM
from diffgbm.metrics import crps_scorer

X, y = load_diabetes(return_X_y=True)
model = DiffGBM.flow(n_repeats=10, n_estimators=80, min_child_samples=50, n_jobs=1, seed=0)
model.set_params(extra_residualizer_params={"n_estimators": 60})
pipeline = Pipeline([("scale", StandardScaler()), ("rotate", PCA(random_state=0)), ("model", model)])

# %%
# Cross-validation by CRPS, in the units of the response (scikit-learn wants scores that grow, hence the sign):

print("CRPS of three folds:", -cross_val_score(pipeline, X, y, cv=3, scoring=crps_scorer).round(1))

# %%
# A search goes through the pipeline as well: here over a step of the preparation (rotate the columns or not) and over
# the recipe (which of two paths leads from noise to data).

grid = {"rotate": ["passthrough", PCA(random_state=0)], "model__flow_path": ["vp", "linear"]}
search = GridSearchCV(pipeline, grid, scoring=crps_scorer, cv=3).fit(X, y)
folds = -np.array([search.cv_results_[f"split{k}_test_score"] for k in range(3)])  # (folds, candidates)
names = [
    f"{'as they are' if p['rotate'] == 'passthrough' else 'rotated'}, {p['model__flow_path']}"
    for p in search.cv_results_["params"]
]
for name, scores in zip(names, folds.T):
    print(f"{name:<20} {scores.round(1)}  mean {scores.mean():.2f}")
print("best:", names[search.best_index_])

# %%
# The folds differ more from each other than the candidates do, so compare candidates within a fold (follow the lines
# in the left picture): the rotated columns are as good or better. Three folds of 147 rows do not show more than that.
# The best pipeline predicts like any other. For methods that only distributional regressors have, use its last step.

figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 3.9), width_ratios=[1, 1.2], layout="constrained")
for k, scores in enumerate(folds):
    left.plot(scores, "o-", label=f"fold {k + 1}", color=["#0072B2", "#D55E00", "#009E73"][k])
left.set_xticks(range(4), [name.replace(", ", "\n") for name in names])
left.set(ylabel="CRPS of the fold")
left.legend(frameon=False)

prepare, model = search.best_estimator_[:-1], search.best_estimator_[-1]
lower, upper = model.predict_interval(prepare.transform(X), coverage=0.8).T
order = np.argsort(search.predict(X))[::8]
right.vlines(np.arange(len(order)), lower[order], upper[order], color="#56B4E9", lw=3, label="80% interval")
right.plot(search.predict(X)[order], "_", color="#0072B2", markersize=7, label="mean")
right.plot(y[order], "o", color="#222222", markersize=2.5, label="observed")
right.set(xlabel="every eighth row, by predicted mean", ylabel="disease progression")
right.legend(frameon=False, loc="upper left")
for ax in (left, right):
    ax.spines[["top", "right"]].set_visible(False)
