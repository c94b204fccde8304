"""The benchmark of model files: its measurements and its table."""

import argparse

import pytest

from benchmarks import model_files
from diffgbm import DiffGBM


def test_a_tiny_model_is_measured_and_writes_no_results(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(model_files, "RESULTS", tmp_path)
    monkeypatch.setattr(model_files, "LINES", tmp_path / "lines.jsonl")
    model_files.run(argparse.Namespace(rows=90, repeats=1, tiny=True))
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("| tiny"))
    assert len(line.split("|")) == 14
    assert list(tmp_path.iterdir()) == []


def test_the_numbers_are_those_of_files_and_pickles(monkeypatch):
    make = model_files.TINY["tiny"]
    result = model_files.measure("tiny", make, 90, 1)
    assert 0 < result["file_size"] < 100_000
    assert 0 < result["pickle_size"] < 200_000
    assert all(result[f"{kind}_{what}"] >= 0.0 for kind in ("file", "pickle") for what in ("load", "first", "save"))
    text = model_files.table([result])
    assert f"**{result['file_size'] / result['pickle_size']:.2f}**" in text

    original = DiffGBM.sample
    monkeypatch.setattr(DiffGBM, "sample", lambda self, X, n, seed: original(self, X, n, seed=None))
    with pytest.raises(AssertionError, match="the same samples"):
        model_files.measure("tiny", make, 90, 1)


def test_out_of_bag_distributions_are_in_neither():
    X, y = model_files.table_of(90)
    model = model_files.TINY["tiny"]().fit(X, y)
    light = model_files.without_distributions(model)
    assert hasattr(model, "oob_distribution_")
    assert not hasattr(light, "oob_distribution_")
    assert light.model_ is model.model_
