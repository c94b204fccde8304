"""Even beside independent noise: lines that resume, means of pairs, the page."""

import argparse

import numpy as np
from benchmarks.protocol import Fold, Standardiser
from benchmarks.records import read

from benchmarks import even_noise, single_fits
from tests.conftest import TINY, toy


def line(design, crps, data_set="energy", fold=0, seed=0):
    key = {"recipe": "DiffGBM()", "n_repeats": "30", "rows": 6000, "data_set": data_set, "fold": fold, "seed": seed}
    return {**key, "design": design, "crps": crps, "rounds": 10.0, "seconds": 2.0}


def test_the_page_has_ratios_of_pairs():
    lines = [line("independent", 2.0), line("even", 1.0), line("independent", 8.0, seed=1)]
    lines += [line("independent", 1.0, "concrete", 1), line("even", 2.0, "concrete", 1), line("even", 3.0, "wine", 0)]
    page = even_noise.page(lines)
    assert "| energy | 0.500 |  | 10 | 10 |" in page
    assert "| concrete |  | 2.000 | 10 | 10 |" in page
    assert "wine" not in page
    assert "over 2 tables: 1.000; without fold 0 2.000." in page


def test_lines_resume(tmp_path, monkeypatch):
    X, y = toy(120)
    shift = Standardiser(np.array(3.0), np.array(2.0))
    part = Fold(X[:100], y[:100], X[100:], shift.restore(y[100:]), shift)
    monkeypatch.setattr(single_fits, "fold_of", lambda *parts: part)
    small = {name: value for name, value in TINY.items() if name not in ("seed", "n_jobs", "n_repeats")}
    calls = []

    def make(**params):
        calls.append(params["noise_design"])
        return even_noise.DiffGBM(**small, **params)

    monkeypatch.setitem(even_noise.RECIPES, "DiffGBM()", make)
    args = argparse.Namespace(
        data_sets=["energy"], recipes=["DiffGBM()"], folds=[0], copies=["3"], rows=60, seeds=1, results_dir=tmp_path
    )
    args.data_dir = None
    even_noise.run(args)
    even_noise.run(args)
    assert calls == ["independent", "even"]
    assert [found["rounds"] for found in read(tmp_path / "even_noise.jsonl")] == [15.0, 15.0]
    assert "| energy |" in (tmp_path / "even_noise.md").read_text()
