"""
Categories and missing values
=============================

Pass frames as they are: categorical columns are categories, values may be missing anywhere, and new rows may hold
categories that training never saw. You encode and impute nothing by hand.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from diffgbm import DiffGBM, metrics
from diffgbm.plotting import densities

rng = np.random.default_rng(0)
BASE = {"centre": 5.2, "harbour": 4.6, "hills": 6.1, "station": 3.4}
SCALE = {"centre": 0.5, "harbour": 1.2, "hills": 0.8, "station": 0.3}


def flats(n):
    """Price per square metre by quarter and age. A missing age is informative: nobody records it for new flats."""
    quarter = rng.choice(list(BASE), n)
    age = rng.exponential(30.0, n)
    new = rng.uniform(size=n) < 0.2
    price = np.array([BASE[q] for q in quarter]) - 0.02 * np.minimum(age, 60) + 1.5 * new
    price += np.array([SCALE[q] for q in quarter]) * rng.standard_normal(n)
    frame = pd.DataFrame({"quarter": pd.Categorical(quarter), "age": np.where(new, np.nan, age)})
    frame.loc[rng.uniform(size=n) < 0.05, "quarter"] = None
    return frame, pd.Series(price, name="price")


X, y = flats(2500)
X_new, y_new = flats(1500)
print(X.head(4))

# %%
# No preparation:

model = DiffGBM(residualize="off", n_estimators=200, min_child_samples=700, n_jobs=1, seed=0).fit(X, y)
asked = pd.DataFrame(
    {"quarter": ["station", "harbour", "harbour", None], "age": [20.0, 20.0, np.nan, 20.0]},
    index=["station, 20 years", "harbour, 20 years", "harbour, age missing", "quarter missing"],
)
print(model.predict_distribution(asked).to_frame([0.05, 0.5, 0.95]).round(2))

# %%
# The missing age raises the price by about 1.5, as it should: the trees learned that it means a new building. If the
# quarter is missing, the distribution is wide, because it could be any of them.

figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4), width_ratios=[1.3, 1], layout="constrained")
densities(model.predict_distribution(asked, grid=1597), rows=range(4), ax=left)
left.legend(asked.index, frameon=False)
left.set(xlabel="price")
distribution = model.predict_distribution(X_new)
inside = (distribution.interval(0.9)[:, 0] <= y_new) & (y_new <= distribution.interval(0.9)[:, 1])
groups = X_new["quarter"].astype(object).fillna("missing")
by_group = inside.groupby(groups.to_numpy()).agg(["mean", "size"])
error = 1.96 * np.sqrt(0.9 * 0.1 / by_group["size"])
right.errorbar(by_group["mean"], range(len(by_group)), xerr=error, fmt="o", color="#0072B2", capsize=4)
right.axvline(0.9, color="#222222", ls="--", lw=1)
right.set(yticks=range(len(by_group)), yticklabels=by_group.index, xlabel="coverage of 90% intervals", xlim=(0.7, 1.0))
right.set_title("new rows, by quarter (bars: sampling error)")
right.spines[["top", "right"]].set_visible(False)
print(by_group.round(3))

# %%
# Coverage is within two or three points of 90% in every quarter, although their noise differs by a factor of four.
# Where the quarter is missing it is lower, by hardly more than the sampling error. A category that training never saw,
# here a quarter called "airport", is treated as unknown, and the prediction does not depend on the other rows of the
# table: codes are those of training, not of the frame you pass. If more than 5% of the rows are of this kind, a warning
# says so.

unknown = pd.DataFrame({"quarter": ["airport"], "age": [20.0]})
together = pd.concat([unknown, X_new.astype({"quarter": object})], ignore_index=True)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    alone, among_others = model.predict(unknown)[0], model.predict(together)[0]
print(caught[0].message)
print(f"airport alone {alone:.3f}, among {len(X_new)} other rows {among_others:.3f}")
print(f"skill on new rows: {metrics.crpss(distribution, y_new, y):.2f}")
