"""The record of a search: of one fit, of folds, and of a model file."""

import json
from dataclasses import replace

import pandas as pd
import pytest

from diffgbm.estimators.search_record import SearchRecord, as_frame, mean_by_name, rows_of

ROWS = [{"model": "flow", "crps": 0.5}, {"model": "diffusion", "crps": 0.6}]
RECORD = SearchRecord(ROWS, {"flow": 0.75, "diffusion": 0.25}, {"stack": 0.4}, False, "It predicts well.")


def test_a_file_gives_the_record_back():
    assert SearchRecord.from_stored(json.loads(json.dumps(RECORD.to_stored()))) == RECORD


@pytest.mark.parametrize(
    "wrong", [{"leaderboard": [{"model": ["flow"]}]}, {"weights": [1.0]}, {"cut_short": 1}, {"summary": None}]
)
def test_a_file_with_something_else_is_refused(wrong):
    with pytest.raises((TypeError, ValueError)):
        SearchRecord.from_stored({**RECORD.to_stored(), **wrong})


def test_folds_are_numbered_and_averaged():
    other = replace(RECORD, weights={"flow": 1.0}, first_stage_errors={"stack": 0.6, "gp": 0.3}, cut_short=True)
    record = SearchRecord.of_folds([RECORD, other], "Two folds.")
    assert [row["fold"] for row in record.leaderboard] == [0, 0, 1, 1]
    # a member that a fold left out has no weight there; an error that was not measured has none
    assert record.weights == pytest.approx({"flow": 0.875, "diffusion": 0.125})
    assert record.first_stage_errors == pytest.approx({"stack": 0.5, "gp": 0.3})
    assert record.cut_short
    assert record.summary == "Two folds."


def test_means_by_name():
    assert mean_by_name([{"a": 1.0}, {"a": 3.0, "b": 4.0}]) == {"a": 2.0, "b": 4.0}
    assert mean_by_name([{"a": 1.0}, {"b": 4.0}], 2) == {"a": 0.5, "b": 2.0}


def test_leaderboards_are_frames_of_their_rows():
    frame = as_frame(ROWS)
    assert isinstance(frame, pd.DataFrame)
    assert rows_of(frame) == rows_of(ROWS) == ROWS
