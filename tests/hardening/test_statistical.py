"""``python -m reliability statistics``: truths that are true, and lines that are kept."""

import numpy as np
import pytest
from reliability import records, statistical
from reliability.statistical_cases import CASES

from diffgbm.metrics.diagnostics import inside_central


@pytest.mark.parametrize("name", CASES)
def test_truths_attain_nominal_coverage_and_lie_within_their_limits(name):
    case = CASES[name]
    X, y = case.fresh(1200, seed=0)
    truth = case.truth(X)
    coverage = inside_central(truth, y, np.array([0.5, 0.9])).mean(axis=0)
    # three standard errors
    np.testing.assert_allclose(coverage, [0.5, 0.9], atol=0.043)
    assert truth.mean().mean() == pytest.approx(y.mean(), abs=5.0 * y.std() / np.sqrt(1200) + 0.02)
    assert ((truth.quantile(0.0) >= case.low) & (truth.quantile(1.0) <= case.high)).all()
    for atom in case.atoms:
        assert truth.pmf(atom).mean() == pytest.approx(np.mean(y == atom), abs=0.04)


def test_training_tables_have_the_difficulty_they_are_named_after():
    X, _ = CASES["stacked_4"].table(0)
    assert len(np.unique(X, axis=0)) == len(X) / 4 == 250
    assert len(np.unique(CASES["entities"].table(0)[0], axis=0)) == 50
    assert np.ptp(CASES["one_wild_row"].table(0)[1]) > 1e4
    np.testing.assert_array_equal(CASES["counts"].table(0)[1] % 1, 0.0)


def test_a_run_goes_on_where_it_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(statistical, "lines", lambda name: records.lines(name, tmp_path))
    monkeypatch.setattr(statistical, "record", lambda name, figures: records.record(name, figures, tmp_path))
    monkeypatch.setattr(statistical, "measure", lambda c, m, s: {"case": c, "model": m, "seed": s, "crps": 1.0})
    monkeypatch.setattr(statistical, "SEEDS", 2)
    assert statistical.run("statistics", ["zeros"], minutes=-1.0)["fits"] == 0
    assert statistical.run("statistics", ["zeros"])["fits"] == 2 * len(statistical.MODELS)
    assert statistical.run("statistics", ["zeros"])["fits"] == 0
    assert statistical.run("statistics", ["noise"])["fits"] == 2 * len(statistical.MODELS)


def test_figures_of_a_fit(monkeypatch):
    small = {"n_estimators": 10, "n_repeats": 3, "n_jobs": 1, "seed": 0}
    from diffgbm import DiffGBM

    monkeypatch.setitem(statistical.MODELS, "flow", lambda case: DiffGBM.flow(**small, **statistical.atoms_of(case)))
    figures = statistical.measure("both_ends", "flow", 0, n_fresh=300)
    assert figures["oracle"] < figures["crps"] < 2.0 * figures["oracle"]
    assert figures["outside"] == 0.0
    assert figures["atom_bias"] < 0.1
    assert {"coverage_50", "coverage_90", "oracle_50", "oracle_90", "atom_rmse"} <= set(figures)
