"""Dirty business tables: each trouble alone is there and is read right, and all of them together can be fitted."""

import warnings

import numpy as np
import pandas as pd
import pytest
from benchmarks.raw.business import KINDS
from benchmarks.raw.troubles import COLUMNS, ROWS, TROUBLES, USUAL, business_table

from diffgbm import DiffGBM, DiffGBMWarning
from diffgbm.data.file_tables import training_table

TINY = {"n_estimators": 5, "n_repeats": 2, "num_leaves": 4, "early_stopping_rounds": None, "seed": 0, "n_jobs": 1}
EXPECTED = {
    "informative levels": ("levels", "encoded category"),
    "noise levels": ("noise", "encoded category"),
    "row names": ("id", "encoded category"),
    "dates": ("date", "date"),
    "ISO dates": ("iso", "date"),
    "durations": ("duration", "duration"),
    "free text": ("text", "text"),
    "leading zeros": ("code", "encoded category"),
    "numbered levels": ("number", "number"),
    "truth values": ("truth", "number"),
    "exact numbers": ("exact", "number"),
    "lists": ("list", "not used"),
}
"""The columns that troubles add, and how 150 rows of them are read."""
KIND = dict(zip(TROUBLES, list(KINDS) * len(TROUBLES), strict=False))
"""Each trouble is tried on one kind of table."""


def fitted(table):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiffGBMWarning)
        model = DiffGBM.flow(**TINY, support=(table.low, None)).fit(table.X_train, table.y_train)
        dist = model.predict_distribution(table.X_test)
    assert np.isfinite(dist.crps(table.y_test)).all()
    assert (dist.quantile([0.05, 0.95]) >= table.low).all()
    return model


def small(trouble, **how):
    return business_table(KIND[trouble], [trouble], 150, 30, **how)


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_without_troubles_holds_plain_columns(kind):
    table = business_table(kind, [], 150, 30)
    assert (len(table.X_train), len(table.X_test)) == (150, 30)
    assert not table.X_train.isna().any(axis=None)
    assert {column.kind for column in fitted(table).schema_} == {"number", "category"}
    for y in (table.y_train, table.y_test):
        assert y.min() >= table.low
        assert y.max() <= table.high


def test_the_natural_responses_have_zeros_and_counts():
    claims, bikes = (business_table(kind, [], 500, 10).y_train for kind in ("claims", "bikes"))
    assert 0.5 < np.mean(claims == 0.0) < 0.8
    assert (bikes == np.rint(bikes)).all()


@pytest.mark.parametrize("trouble", EXPECTED)
def test_a_column_is_read_as_what_it_is(trouble):
    word, kind = EXPECTED[trouble]
    table = small(trouble)
    name = KINDS[KIND[trouble]].words[word]
    assert fitted(table).schema_[name].kind == kind


def test_constant_and_empty_columns_are_noted():
    table = business_table("shop", ["constant column", "empty column"], 150, 30)
    schema = fitted(table).schema_
    assert schema["currency"].detail.startswith("constant")
    assert schema["remarks"].detail == "no values"


@pytest.mark.parametrize("trouble", [name for name in TROUBLES if name not in EXPECTED])
def test_other_troubles_alone_are_fitted(trouble):
    fitted(small(trouble))


def test_missing_marks_are_missing_numbers():
    table = business_table("bikes", ["missing values", "missing marks"], 150, 30)
    model = fitted(table)
    assert table.X_train["hour"].isin(["?", "n/a", "-", ""]).mean() > 0.05
    assert model.schema_["hour"].kind == "number"
    assert "missing" in model.schema_["hour"].detail
    assert table.X_train["temperature"].isna().mean() > 0.03


def test_thousands_separators_are_numbers():
    table = small("thousands separators")
    name = KINDS[KIND["thousands separators"]].amount
    schema = fitted(table).schema_
    assert schema[name].kind == "number"
    assert schema[name].detail == "written as text, thousands separator ','"


def test_rows_change_in_training_only():
    for trouble in ROWS:
        clean, dirty = (business_table("houses", names, 150, 30) for names in ([], [trouble]))
        pd.testing.assert_frame_equal(clean.X_test, dirty.X_test)
        assert np.array_equal(clean.y_test, dirty.y_test)
    table = business_table("houses", ["repeated rows", "wild value", "wild response"], 150, 30)
    assert table.X_train.duplicated().sum() > 10
    assert table.X_train.max(numeric_only=True).max() == 1e9
    assert table.y_train.max() > 50 * np.median(table.y_train)


def test_zeros_and_counts_change_the_response():
    assert 0.4 < np.mean(small("zeros").y_train == 0.0) < 0.8
    counts = small("counts").y_train
    assert (counts == np.rint(counts)).all()
    assert len(np.unique(counts)) < 60


def test_a_trouble_leaves_what_the_others_draw():
    alone, more = (business_table("shop", names, 100, 10) for names in (["noise levels"], ["noise levels", "dates"]))
    pd.testing.assert_series_equal(alone.X_train["session"], more.X_train["session"])
    other = business_table("shop", ["noise levels"], 100, 10, seed=1)
    assert not alone.X_train["session"].equals(other.X_train["session"])


def test_the_effect_of_levels_is_in_the_response():
    plain_table, table = (business_table("houses", names, 3000, 10) for names in ([], ["informative levels"]))
    shift = np.log(table.y_train) - np.log(plain_table.y_train)
    within = pd.Series(shift).groupby(table.X_train["agent"]).std().dropna()
    assert within.max() < 0.01
    assert 0.25 < shift.std() < 0.45
    assert table.X_train["agent"].nunique() > 700


@pytest.mark.parametrize("kind", KINDS)
def test_all_troubles_together_are_fitted(kind):
    table = business_table(kind, TROUBLES, 120, 20)
    kinds = {column.kind for column in fitted(table).schema_}
    assert {"number", "category", "encoded category", "date", "duration", "text", "not used"} == kinds
    assert len(table.X_train.columns) == 6 + len(COLUMNS)


def test_all_troubles_together_are_read_from_a_file(tmp_path):
    table = business_table("houses", USUAL, 150, 30)
    path = tmp_path / "houses.csv"
    frame = table.X_train.drop(columns="photos").assign(price=table.y_train)
    frame.to_csv(path, index=False, sep="\t", encoding="cp1252")
    found = training_table(path, ["price"], [])
    np.testing.assert_array_equal(found.y.to_numpy(), table.y_train)
    lot = found.X["lot"].to_numpy().astype(float)
    np.testing.assert_array_equal(lot, table.X_train["lot"].str.replace(",", "").astype(float))
    assert set(found.X["town"].to_pylist()) == set(table.X_train["town"].replace({np.nan: None}))


def test_unknown_troubles_are_named():
    with pytest.raises(ValueError, match=r"unknown troubles \['noise'\]; there are informative levels"):
        business_table("shop", ["noise"])
