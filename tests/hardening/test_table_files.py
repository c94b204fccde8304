"""The command line and the benchmarks' loader on files of every table; tables that are large in one direction."""

import gzip
import os
import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from benchmarks.datasets import DataSet, DataSetError
from benchmarks.table_files import read
from hypothesis import assume, given
from hypothesis import strategies as st

from diffgbm._util.errors import DiffGBMWarning
from diffgbm.cli import entry as cli

from .attempts import small, watched
from .conftest import profile
from .strategies import arrow_tables, numbers, pandas_frames, polars_frames, seeds

SMALL = ("n_estimators=2", "n_repeats=2", "early_stopping_rounds=null", "num_leaves=4", 'residualize="off"')
SETTINGS = ["--recipe", "flow"] + [word for option in SMALL for word in ("--set", option)]
WRITERS = {
    "csv": pa.csv.write_csv,
    "parquet": pa.parquet.write_table,
    "feather": lambda table, path: pa.feather.write_feather(table, path, compression="uncompressed"),
}


def as_arrow(table):
    """A table as Arrow would hold it; not every table can be."""
    try:
        if isinstance(table, pl.LazyFrame):
            table = table.collect()
        if isinstance(table, pl.DataFrame):
            return table.to_arrow()
        if isinstance(table, pd.DataFrame):
            return pa.Table.from_pandas(table.rename(columns=str), preserve_index=False)
    except (pa.ArrowException, pl.exceptions.PolarsError, TypeError, ValueError, OverflowError):
        return None
    return table


@st.composite
def files(draw):
    """A table with a target, and the kind of its file."""
    n, strange = draw(st.integers(0, 30)), draw(st.booleans())
    table = as_arrow(draw(st.one_of(make(n, strange) for make in (pandas_frames, polars_frames, arrow_tables))))
    assume(table is not None and table.num_columns > 0)
    scale = draw(st.sampled_from([1.0, 1.0, 1e300, 1e-300]))
    target = numbers(n, draw(seeds), "float64", draw(st.sampled_from(["normal", "tied", "missing"])), scale)
    return table.append_column("target", pa.array(target)), draw(st.sampled_from(sorted(WRITERS)))


def command(capfd, *words):
    """Run a command; return its exit code and its message. It prints nothing else."""
    capfd.readouterr()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind in (DiffGBMWarning, DeprecationWarning, FutureWarning):
            warnings.simplefilter("ignore", kind)
        with pytest.raises(SystemExit) as left:
            cli.main([str(word) for word in words])
    output, complaint = capfd.readouterr()
    assert output == ""
    assert left.value.code in (0, 2)
    if left.value.code == 2:
        assert re.fullmatch(r"diffgbm: [^\n]+\n", complaint)
        assert re.search(r"(table\.|column|\by\b|\bX\b|--|rows|model)", complaint)
    else:
        assert complaint == ""
    return left.value.code


@given(files())
@profile()
def test_files_through_the_command_line(tmp_path_factory, capfd, tally, file):
    table, kind = file
    folder = tmp_path_factory.mktemp("files")
    path, model = folder / f"table.{kind}", folder / "m.dgbm"
    try:
        WRITERS[kind](table, path)
    except (pa.ArrowException, ValueError):
        assume(False)
    content = path.read_bytes()
    if command(capfd, "fit", path, "-t", "target", "-o", model, "-q", "--jobs", "1", *SETTINGS):
        assert not model.exists()
        tally["refused"] += 1
    else:
        for name, words in {"predict": (), "sample": ("-n", "2")}.items():
            out = folder / f"{name}.parquet"
            assert command(capfd, name, model, path, "-o", out, "-q", "--jobs", "1", *words) == 0
            result = pd.read_parquet(out).to_numpy()
            assert len(result) == len(table)
            assert np.isfinite(result).all()
        assert command(capfd, "evaluate", model, path, "-q", "--jobs", "1") == 0
        tally["answered"] += 1
    assert path.read_bytes() == content


LINES = (
    "a,b,height\n1,2,3\n",
    "height\n1\n",
    "a,height\n1,x\n",
    "a,height\n1\n",
    "",
    "\n",
    "a,a,height\n1,2,3\n",
    "a,height\n",
)
SPOILT = ("1e400", "nan", "-inf", "", '"', "\x00", "1,2", "é", "0x10", "1_000", " 1 ", "#", "1e-400", "--1")


@st.composite
def originals(draw):
    """Bytes of a prepared data set: numbers, one of them invalid, truncated, or not gzipped."""
    n = draw(st.integers(0, 8))
    rows = [[f"{v:.6g}" for v in numbers(3, draw(seeds), scale=draw(st.sampled_from([1.0, 1e300])))] for _ in range(n)]
    if n and draw(st.booleans()):
        rows[draw(st.integers(0, n - 1))][draw(st.integers(0, 2))] = draw(st.sampled_from(SPOILT))
    text = "".join(",".join(row) + "\n" for row in [["a", "b", "height"], *rows])
    if draw(st.integers(0, 3)) == 0:
        text = draw(st.sampled_from(LINES))
    packed = gzip.compress(text.encode(), mtime=0)
    return draw(st.sampled_from([packed, packed, packed, packed[: len(packed) // 2], text.encode(), b""]))


@given(originals())
@profile()
def test_files_of_data_sets(tmp_path_factory, capfd, tally, content):
    path = tmp_path_factory.mktemp("data") / "toy.csv.gz"
    path.write_bytes(content)
    with watched(capfd):
        try:
            table = read(path, DataSet("toy", "nowhere", "height"))
            assert table.X.shape == (len(table.y), len(table.features))
            assert table.X.shape[0] > 0
            assert table.X.shape[1] > 0
            assert np.isfinite(table.y).all()
            tally["answered"] += 1
        except DataSetError as error:
            assert str(path) in str(error)  # noqa: PT017  # either answer is right
            tally["refused"] += 1
    assert path.read_bytes() == content


# --- large in one direction ----------------------------------------------------------------------------------------


def test_many_categories(capfd):
    n = 1_000_000 if os.environ.get("DIFFGBM_HARDEN") else 50_000
    X = np.arange(n).astype("U7").astype(object)[:, None]
    few = {"n_estimators": 1, "n_repeats": 1, "max_bin": 15, "subsample_for_bin": 1000}
    with watched(capfd):
        model = small(**few).fit(X, np.arange(n) % 7.0, cat_idx=[0])
        assert model.schema_[0].detail == f"{n:,} categories that differ by no more than chance: not used"
        assert np.isfinite(model.sample(X[-3:], 2, seed=0)).all()


def test_five_thousand_columns(capfd):
    X = pd.DataFrame(np.random.default_rng(0).standard_normal((12, 5000)))
    y = X[0].to_numpy()
    with watched(capfd):
        model = small(n_estimators=2).fit(X, y)
        mean = model.predict(X[list(range(4999, -1, -1))])
        np.testing.assert_array_equal(mean, model.predict(X))
        with pytest.raises(ValueError, match="now missing:\n- 4999"):
            model.predict(X.drop(columns=4999))


@pytest.mark.parametrize("empty", [pd.DataFrame(), pl.DataFrame(), pl.LazyFrame(), pa.table({}), np.empty((0, 0)), []])
def test_empty_frames(empty, capfd):
    with watched(capfd), pytest.raises(ValueError, match=r"minimum of 1|Expected 2D array"):
        small().fit(empty, [])
