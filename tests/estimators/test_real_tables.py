"""Real tables as people have them: text, dates and missing values go in as they are."""

import numpy as np
import pandas as pd
import pytest

from diffgbm import DiffGBM

vega = pytest.importorskip("vega_datasets", reason="the tables are in the package vega_datasets (extra test)")

EXPECTED = {
    "cars": ("Miles_per_Gallon", {"Name": "encoded category", "Year": "date", "Origin": "category"}),
    "seattle_weather": ("temp_max", {"date": "date", "wind": "number", "weather": "category"}),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_frame_without_preparation_predicts_better_than_climatology(name):
    target, kinds = EXPECTED[name]
    assert name.replace("_", "-") in vega.local_data.list_datasets()  # no network
    frame = getattr(vega.local_data, name)().sample(frac=1.0, random_state=0)
    frame = frame[frame[target].notna()][:600]
    X, y = frame.drop(columns=target), frame[target].astype(float)
    train = np.arange(len(X)) < 0.7 * len(X)
    model = DiffGBM.flow(n_repeats=5, n_estimators=60, seed=0, n_jobs=1).fit(X[train], y[train])
    assert {column: model.schema_[column].kind for column in kinds} == kinds
    past = y[train].to_numpy()
    spread = np.abs(past[:, None] - past[None, :]).mean() / 2.0
    climatology = np.abs(y[~train].to_numpy()[:, None] - past[None, :]).mean(axis=1) - spread
    assert model.crps(X[~train], y[~train]).mean() < 0.5 * climatology.mean()
    assert pd.api.types.is_float_dtype(model.predict_interval(X[~train])["lower"])
