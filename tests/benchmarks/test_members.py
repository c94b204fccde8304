"""Members from outside beside the same fit without: pairs, lines that are not repeated, and the target."""

import numpy as np
import pytest
from benchmarks.__main__ import main
from benchmarks.members import KEY, measure, page, pairs
from benchmarks.rivals.problems import Problem
from sklearn.linear_model import BayesianRidge

from benchmarks import members, records

RNG = np.random.default_rng(0)
X = RNG.normal(size=(160, 2))
Y = X[:, 0] + 0.3 * RNG.normal(size=160)
PART = Problem(X[:120], Y[:120], X[120:], Y[120:])


def line(table, crps, of_members, **more):
    key = dict(zip(KEY, (table, 1, "fast", 120.0, of_members), strict=True))
    return {**key, "crps": crps, "seconds": 10.0, "weights": {}, **more}


def test_pairs_and_the_target():
    lines = [line("yacht", 1.0, False), line("yacht", 0.98, True, weights={"CatBoost (your member: quantiles)": 0.3})]
    lines += [line("energy", 1.0, False), line("energy", 1.01, True)]
    lines += [line("naval", 0.0, False), line("naval", 0.0, True), line("wine", 1.0, False)]
    table, summary = pairs(lines)
    assert "| yacht, fold 1 | 1 | 0.98 | 0.980 | CatBoost 0.30 | 10 | 10 |" in table
    assert "| energy, fold 1 | 1 | 1.01 | 1.010 | left out | 10 | 10 |" in table
    assert "| naval, fold 1 | 0 | 0 | 1.000 |" in table
    assert "wine" not in table
    assert summary.startswith("3 pairs: worse than 1.005 on 1 (the highest is 1.010), 0.99 or less on 1;")
    assert pairs(lines[-1:]) == ["No table has both fits yet."]
    assert "## fast, 120 s" in page(lines)


def test_a_fit_with_members_has_scores_and_their_weights(monkeypatch):
    monkeypatch.setattr(members, "outside", lambda seed: [("ridge", BayesianRidge())])
    found = measure(PART, dict(zip(KEY, ("mine", 1, "fast", 1.0, True), strict=True)))
    assert 0.1 < found["crps"] < 0.3
    ((name, weight),) = found["weights"].items()
    assert name.startswith("ridge (your member")
    assert 0.0 <= weight <= 1.0


def test_the_command_fits_what_is_missing(tmp_path, monkeypatch):
    asked = []

    def measured(part, key):
        asked.append((key["table"], key["members"]))
        return {**key, "crps": 1.0, "seconds": 1.0, "weights": {}}

    monkeypatch.setattr(members, "measure", measured)
    records.append(tmp_path / "members.jsonl", line("bimodal", 1.0, False))
    words = ["members", "--tables", "bimodal", "skewed", "--results-dir", str(tmp_path)]
    assert main(words) == 0
    assert asked == [("bimodal", True), ("skewed", False), ("skewed", True)]
    assert main(words) == 0
    assert len(asked) == 3
    assert "2 pairs: worse than 1.005 on 0" in (tmp_path / "members.md").read_text()


def test_the_members_are_those_of_the_real_libraries():
    pytest.importorskip("catboost")
    pytest.importorskip("quantile_forest")
    (_, catboost), (_, forest) = members.outside(3)
    assert catboost.get_params()["loss_function"].count(",") == 18
    assert forest.random_state == 3
