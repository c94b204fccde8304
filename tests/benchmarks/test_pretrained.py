"""The comparison with pretrained models: their splits, their figures, and ours beside them."""

import numpy as np
import pytest
from benchmarks.__main__ import main
from benchmarks.table_files import Table
from sklearn.model_selection import train_test_split

from benchmarks import pretrained, records

PUBLISHED = pretrained.read_published(pretrained.RESULTS / "pretrained" / "published.csv")


def line(table="kin8nm", rows=1000, split=0, crps=0.05, preset="best", **more):
    scores = dict.fromkeys(pretrained.SCORES, 1.0)
    return {"table": table, "rows_in_all": rows, "preset": preset, "split": split, **scores, "crps": crps, **more}


def test_published_figures():
    assert len(PUBLISHED) == 665
    kin = {each["method"]: each for each in PUBLISHED if (each["table"], each["rows_in_all"]) == ("kin8nm", 5000)}
    assert min(kin[name]["crps"] for name in pretrained.PRETRAINED) == pytest.approx(0.0388, abs=5e-5)
    others = min(each["crps"] for name, each in kin.items() if name not in pretrained.PRETRAINED)
    assert others == pytest.approx(0.0476, abs=5e-5)
    assert set(pretrained.SOURCES) <= {each["table"] for each in PUBLISHED}


def test_rows_are_drawn_as_in_the_paper():
    X, y = np.arange(400.0).reshape(200, 2), np.arange(200.0)
    X_train, y_train, X_test, y_test = pretrained.split_rows(X, y, 80, 3)
    chosen = np.random.RandomState(42).permutation(200)[:80]
    train, test = train_test_split(chosen, test_size=0.25, random_state=3)
    np.testing.assert_array_equal(y_train, y[train])
    np.testing.assert_array_equal(X_test, X[test])
    assert (len(X_train), len(y_test)) == (60, 20)


def test_tables_as_they_have_them():
    X = np.array([[7.4, 1.0], [6.1, 0.0]])
    white = pretrained._white_wine(Table(X, np.array([5.0, 6.0]), ("acid", "color"), "quality"))
    np.testing.assert_array_equal(white[0], [[6.1]])
    np.testing.assert_array_equal(white[1], [6.0])
    names = ("MedInc", "HouseAge", "AveRooms", "AveBedrms", "Population", "AveOccup", "Latitude", "Longitude")
    first = np.array([[8.3252, 41, 6.984126984, 1.023809524, 322, 2.555555556, 37.88, -122.23]])
    X, y = pretrained._dollars(Table(first, np.array([4.526]), names, "MedHouseVal"))
    np.testing.assert_allclose(X, [[8.3252, 41, 880, 129, 322, 126, 37.88, -122.23]])
    assert y == pytest.approx([452_600.0])


def test_the_page_has_both_and_says_what_is_missing():
    lines = [line(split=0, crps=0.04), line(split=1, crps=0.05), line(rows=5000, crps=0.0397)]
    text = pretrained.page(PUBLISHED, lines)
    assert "| kin8nm, N = 5,000 | 0.0397 | 0.038" in text
    assert "**AutoDiffGBM best** (2 of 4 splits) | 0.045 ± 0.005 |" in text
    assert "kin8nm, N = 1,000 (2 of 4 splits)" in text
    assert "protein, N = 20,000 (4 of 4 splits)" in text
    assert "nan" not in pretrained._all_methods("kin8nm", 1000, [*PUBLISHED, *pretrained.averaged(lines)])


def test_a_fit_has_all_scores():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 2))
    key = dict(zip(pretrained.KEY, ("kin8nm", 160, "fast", 0), strict=True))
    found = pretrained.measure(X, X[:, 0] + 0.3 * rng.normal(size=160), key)
    assert 0.1 < found["crps"] < 0.35
    assert 0.6 < found["coverage_90"] <= 1.0
    assert found["pit_ks"] < 0.5
    assert -2.0 < found["log_likelihood"] < 0.5


def test_the_command_fits_what_is_missing(tmp_path, monkeypatch):
    asked = []

    def measured(X, y, key):
        asked.append((key["table"], key["split"]))
        return line(key["table"], key["rows_in_all"], key["split"])

    monkeypatch.setattr(pretrained, "measure", measured)
    monkeypatch.setattr(pretrained, "warmup", lambda: None)
    monkeypatch.setattr(pretrained, "load", lambda *_: Table(np.zeros((9, 1)), np.zeros(9), ("x",), "y"))
    records.append(tmp_path / "pretrained.jsonl", line(split=0))
    words = ["pretrained", "--tables", "kin8nm", "--rows", "1000", "--splits", "2", "--results-dir", str(tmp_path)]
    assert main(words) == 0
    assert asked == [("kin8nm", 1)]
    assert "kin8nm, N = 1,000" in (tmp_path / "pretrained.md").read_text()
