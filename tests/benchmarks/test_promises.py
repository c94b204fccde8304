"""What a model promises beside what new rows say, on tables that nobody prepared."""

import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
from benchmarks.__main__ import main
from benchmarks.promises import divided, page, response_of, suitable

from benchmarks import promises

RNG = np.random.default_rng(0)
X = RNG.normal(size=(220, 2))
FRAME = pd.DataFrame(
    {"id": np.arange(220), "a": X[:, 0].round(1), "b": X[:, 1].round(1), "y": X[:, 0] + 0.3 * RNG.normal(size=220)}
)


def line(table, promised, observed, coverage=0.9, error=0.1):
    found = {"promised": promised, "observed": observed, "coverage": coverage, "error": error}
    return {"table": table, "seed": 0, "target": "y", "rows": 400, "columns": 3, **found}


def test_the_response_has_the_most_values_and_does_not_number_the_rows():
    assert response_of(FRAME) == "y"
    assert response_of(FRAME[["id"]]) is None
    assert response_of(pd.DataFrame({"kind": ["a", "b"] * 30, "count": [1, 2] * 30})) is None
    assert suitable(FRAME)
    assert not suitable(FRAME[:100])
    assert not suitable(FRAME[["a", "b"]])


def test_rows_without_a_response_are_in_neither_half():
    X, y, X_new, y_new = divided(FRAME.assign(y=FRAME["y"].where(FRAME.index >= 20)), "y", 0)
    assert len(X) == len(y) == len(X_new) == len(y_new) == 100
    assert set(X["id"]) | set(X_new["id"]) == set(range(20, 220))


def test_broken_promises_are_named():
    text = page([line("good", 0.5, 0.5), line("bad", 0.5, 0.9), line("narrow", 0.5, 0.5, 0.8)])
    assert "3 fits of 3 tables" in text
    assert "Worse by more than 3: 1." in text
    assert "4 standard errors in 1." in text
    assert "| bad, y, 0 | 400 | 3 | 0.500 | 0.900 | +4.0 | 0.900 |" in text
    assert "| narrow, y, 0 |" in text
    assert "| good" not in text
    refused = {"table": "odd", "seed": 0, "target": "y", "refused": "no"}
    assert "Refused: odd: no" in page([line("good", 0.5, 0.5), refused])


def test_the_command_fits_what_is_missing(tmp_path, monkeypatch):
    """A table that is refused has a line, too."""
    frames = {"mine": FRAME, "short": FRAME[:50], "odd": FRAME}
    index = pd.DataFrame({"dataset_id": ["mine", "odd", "short"]})
    data = lambda name=None: index if name is None else frames[name]  # noqa: E731
    monkeypatch.setitem(sys.modules, "pydataset", SimpleNamespace(data=data))
    words = ["promises", "--time-limit", "1", "--results-dir", str(tmp_path)]
    assert main([*words, "--tables", "mine", "short"]) == 0

    def refuse(*rest):
        raise ValueError("refused")

    monkeypatch.setattr(promises, "measure", refuse)
    assert main(words) == 0
    assert len((tmp_path / "promises.jsonl").read_text().splitlines()) == 2
    text = (tmp_path / "promises.md").read_text()
    assert "1 fits of 1 tables" in text
    assert "Refused: odd: refused" in text
