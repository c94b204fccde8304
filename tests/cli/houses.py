"""Tables of houses, and helpers that run commands on them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pyarrow import csv as arrow_csv

from diffgbm.cli.entry import main

SMALL: dict[str, Any] = {"n_estimators": 15, "n_repeats": 4, "early_stopping_rounds": None, "num_leaves": 8}
SETS = [
    word
    for option in ("n_estimators=15", "n_repeats=4", "early_stopping_rounds=null", "num_leaves=8")
    for word in ("--set", option)
]
"""``SMALL`` as options of a command."""
SETTINGS = ["--recipe", "flow", *SETS]
"""The same for ``fit``."""
COMMAND = Path(sys.executable).with_name("diffgbm")
WRITERS = {
    "csv": lambda frame, path: frame.to_csv(path, index=False),
    "csv.gz": lambda frame, path: frame.to_csv(path, index=False),
    "parquet": lambda frame, path: frame.to_parquet(path),
    "feather": lambda frame, path: frame.to_feather(path),
}


def houses(n: int = 200, seed: int = 0) -> pd.DataFrame:
    """Ids with leading zeros, numbers with missing values, text with commas, truth values, two targets."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "id": [f"{i:05}" for i in range(n)],
            "size": rng.uniform(30, 200, n).round(1),
            "rooms": rng.integers(1, 6, n),
            "town": rng.choice(["Zug", "Bern", 'Biel, "BE"'], n),
            "garden": rng.uniform(size=n) < 0.5,
        }
    )
    noise = rng.normal(size=(2, n)) * frame["size"].to_numpy()
    frame["price"] = (5.0 * frame["size"] + 200.0 * (frame["town"] == "Zug") + noise[0]).round(2)
    frame["days"] = (100.0 - frame["rooms"] + 0.2 * noise[1]).round(2)
    frame.loc[3, "size"] = np.nan
    frame.loc[4, "town"] = None
    return frame


def rows(frame: pd.DataFrame) -> pd.DataFrame:
    """The columns that models are fitted to, as they are read from text."""
    X = frame[["size", "rooms", "town"]].assign(garden=frame["garden"].map({True: "True", False: "False"}))
    return X.astype({"town": "category", "garden": "category"})


def read(path: Path) -> pd.DataFrame:
    if path.name.endswith("parquet"):
        return pd.read_parquet(path)
    if path.suffix == ".feather":
        return pd.read_feather(path)
    # arrow reads numbers to the last bit, which pandas does not in all versions
    return arrow_csv.read_csv(path, convert_options=arrow_csv.ConvertOptions(column_types={"id": "string"})).to_pandas()


def installed(*words, cwd: Path) -> subprocess.CompletedProcess:
    """Run the installed command in another process."""
    return subprocess.run([COMMAND, *map(str, words)], cwd=cwd, capture_output=True, text=True, check=False)


@pytest.fixture
def run(capsys):
    """Run the command in this process: exit code, output and errors."""

    def call(*words):
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main([str(word) for word in words])
        out, err = capsys.readouterr()
        return left.value.code, out, err

    return call


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Tables of every kind, and models of one and of two targets."""
    path = tmp_path_factory.mktemp("cli")
    for ending, write in WRITERS.items():
        write(houses(), path / f"houses.{ending}")
        write(houses(40, 1).drop(columns=["price", "days"]), path / f"tomorrow.{ending}")
    houses(60, 2).to_csv(path / "test.csv", index=False)
    common = ["--drop", "id", "--jobs", "1", "-q", *SETTINGS]
    for words in (
        ["--target", "price", "--drop", "days", "-o", path / "one.dgbm"],
        ["--target", "price", "--target", "days", "-o", path / "two.dgbm"],
    ):
        with pytest.raises(SystemExit) as left:
            main(["fit", str(path / "houses.csv"), *map(str, words), *common])
        assert left.value.code == 0
    return path


PREDICT = ("predict", "{in}/one.dgbm", "{in}/tomorrow.csv", "-o", "{out}/o.csv", "--jobs", "1")


def changed(words, **changes):
    """Replace words, found by their name without folder and ending, and append ``more``."""
    more = changes.pop("more", ())
    return [*(changes.get(word.split("/")[-1].split(".")[0], word) for word in words), *more]


@pytest.fixture
def refused(run, folder, tmp_path):
    """Run a command that must be refused in one line and write nothing."""

    def call(words, message):
        code, printed, errors = run(
            *(str(w).replace("{in}", str(folder)).replace("{out}", str(tmp_path)) for w in words)
        )
        assert (code, printed) == (2, ""), errors
        assert re.fullmatch(r"diffgbm: [^\n]+\n", errors)
        assert re.search(message, errors.strip()), errors
        assert "Traceback" not in errors
        assert [p for p in tmp_path.iterdir() if p.suffix != ".in"] == []

    return call
