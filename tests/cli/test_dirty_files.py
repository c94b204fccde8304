"""Files as people have them are read as the clean table, in training and in prediction, or refused with a remedy."""

import re

import numpy as np
import pandas as pd
import pytest

from diffgbm.data.file_tables import training_table
from tests.cli.dirty_files import DATES, READ, REFUSED, dated, plain, sales, with_dates

TINY = ("--recipe", "flow", "--jobs", 1, "--set", "residualize=off")
TINY += tuple(w for s in ("n_estimators=3", "n_repeats=2", "early_stopping_rounds=null") for w in ("--set", s))


def test_there_are_enough_of_them():
    assert len(READ) + len(REFUSED) >= 30


@pytest.fixture(scope="module")
def clean(tmp_path_factory):
    path = tmp_path_factory.mktemp("clean") / "clean.csv"
    plain()(sales(), path)
    return path


@pytest.mark.filterwarnings("ignore::diffgbm.DiffGBMWarning")
@pytest.mark.parametrize("trouble", READ)
def test_a_file_is_read_as_the_clean_table(trouble, clean, tmp_path):
    ending, write = READ[trouble]
    path = tmp_path / f"dirty.{ending}"
    write(sales(), path)
    found, expected = (training_table(file, ["price"], []) for file in (path, clean))
    assert found.X.column_names == ["size", "rooms", "town"]
    pd.testing.assert_frame_equal(found.X.to_pandas(), expected.X.to_pandas(), check_exact=True)
    np.testing.assert_array_equal(found.y.to_numpy(), expected.y.to_numpy())
    assert found.without_target == 0


@pytest.fixture(scope="module")
def expected(clean):
    """Predictions of a model of the clean table for other rows."""
    from diffgbm.cli.entry import main

    rows = clean.with_name("rows.csv")
    plain()(sales(60, 1), rows)
    for words in (
        ["fit", clean, "-t", "price", "-o", clean.with_name("m"), "-q", *TINY],
        ["predict", clean.with_name("m"), rows, "-o", clean.with_name("out.csv"), "-q", "--jobs", 1],
    ):
        with pytest.raises(SystemExit) as left:
            main([*map(str, words)])
        assert left.value.code == 0
    return clean.with_name("out.csv").read_bytes()


@pytest.mark.parametrize("trouble", READ)
def test_a_model_of_a_dirty_file_predicts_dirty_files(trouble, expected, tmp_path, run):
    ending, write = READ[trouble]
    train, rows, out = tmp_path / f"t.{ending}", tmp_path / f"r.{ending}", tmp_path / "out.csv"
    write(sales(), train)
    write(sales(60, 1), rows)
    code, printed, errors = run("fit", train, "-t", "price", "-o", tmp_path / "m", *TINY)
    assert (code, errors) == (0, "")
    assert re.search(r"\n  size +number.*\n", printed)
    code, _, errors = run("predict", tmp_path / "m", rows, "-o", out, "--jobs", 1)
    assert (code, errors) == (0, "")
    assert out.read_bytes() == expected


@pytest.mark.parametrize("trouble", DATES)
def test_dates_are_read_as_those_of_the_clean_table(trouble, tmp_path):
    ending, write = DATES[trouble]
    write(with_dates(), tmp_path / f"dirty.{ending}")
    dated("%Y-%m-%d")(with_dates(), tmp_path / "clean.csv")
    files = tmp_path / f"dirty.{ending}", tmp_path / "clean.csv"
    found, expected = (training_table(file, ["price"], []).X.column("sold") for file in files)
    assert found.to_pylist() == expected.to_pylist() == with_dates()["sold"].to_list()


def test_a_model_of_dates_predicts_them(tmp_path, run):
    dated("%d/%m/%Y")(with_dates(), tmp_path / "t.csv")
    code, printed, errors = run("fit", tmp_path / "t.csv", "-t", "price", "-o", tmp_path / "m", *TINY)
    assert (code, errors) == (0, "")
    assert "  sold   date, day-month-year\n" in printed
    # one day that could be a month: read as in training
    early = with_dates().loc[lambda frame: frame["sold"].dt.day <= 12]
    outputs = []
    for style, options in (("%d/%m/%Y", ()), ("%m-%d-%Y", ("--date-format", "%m-%d-%Y"))):
        dated(style)(early, tmp_path / "r.csv")
        predict = ("predict", tmp_path / "m", tmp_path / "r.csv", "-o", tmp_path / "o.csv", "--jobs", 1, *options)
        code, _, errors = run(*predict)
        assert (code, errors) == (0, "")
        outputs.append((tmp_path / "o.csv").read_text())
    assert outputs[0] == outputs[1]
    dated("%m/%d/%Y")(with_dates(), tmp_path / "r.csv")
    code, _, errors = run("predict", tmp_path / "m", tmp_path / "r.csv", "-o", tmp_path / "o.csv")
    assert code == 2
    assert "column 'sold' has dates month-day-year; the training file had day-month-year" in errors
    code, printed, _ = run("inspect", tmp_path / "m")
    assert "  sold   date, day-month-year\n" in printed


@pytest.mark.parametrize("trouble", REFUSED)
def test_other_files_are_refused_with_a_remedy(trouble, tmp_path, run):
    ending, write, message = REFUSED[trouble]
    path = tmp_path / f"dirty.{ending}"
    write(sales(), path)
    code, _, errors = run("fit", path, "-t", "price", "-o", tmp_path / "m", "-q", *TINY)
    assert code == 2
    assert re.fullmatch(rf"diffgbm: [^\n]*{message}[^\n]*\n", errors), errors
    assert not (tmp_path / "m").exists()
