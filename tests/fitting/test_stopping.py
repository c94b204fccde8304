"""When boosting stops: folds of small tables, the round with the lowest cross-validated loss, a model of all rows."""

import numpy as np
import pytest

from diffgbm import DiffGBM
from diffgbm.data.structure import INDEPENDENT, Structure
from diffgbm.fitting import stopping
from diffgbm.fitting.noise_design import NOISE_DESIGNS
from diffgbm.fitting.stopping import FOLDS, HELD_OUT, MOST_ROWS, held_out_share, stopping_folds
from tests.conftest import tiny, toy

STOPPING = {"early_stopping_rounds": 5, "n_estimators": 60, "eval_percent": "auto"}


def test_every_row_of_a_small_table_decides():
    folds = stopping_folds(103, 1, "auto", 0, INDEPENDENT)
    assert len(folds) == FOLDS
    np.testing.assert_array_equal(np.sort(np.concatenate(folds)), np.arange(103))


@pytest.mark.parametrize(
    ("n", "bags", "share", "structure"),
    [
        (103, 1, 0.1, INDEPENDENT),
        (103, 3, "auto", INDEPENDENT),
        (MOST_ROWS + 1, 1, "auto", INDEPENDENT),
        (2 * FOLDS - 1, 1, "auto", INDEPENDENT),
        (100, 1, "auto", Structure(None, np.arange(100.0))),
        (100, 1, "auto", Structure(np.arange(100) % 4, None)),
    ],
)
def test_rows_are_held_out_otherwise(n, bags, share, structure):
    assert stopping_folds(n, bags, share, 0, structure) == []


def test_no_fold_divides_a_group():
    labels = np.arange(120) % 30
    folds = stopping_folds(120, 1, "auto", 0, Structure(labels, None))
    assert sum(len(np.unique(labels[rows])) for rows in folds) == 30


def test_shares():
    assert (held_out_share("auto"), held_out_share(0.3)) == (HELD_OUT, 0.3)


def test_the_round_is_that_of_the_lowest_mean_loss(monkeypatch):
    """The loss of the folds by hand, from boosters that are fitted one after the other."""
    calls = []
    monkeypatch.setattr("diffgbm.fitting.boosting.best_round", lambda *parts: calls.append(parts) or 7)
    X, y = toy(90)
    model = tiny("default", **STOPPING, residualize="off").fit(X, y)
    assert model.n_iterations_ == [7]
    data, folds, n_rows, params, most, patience, callbacks = calls[0]
    assert (n_rows, most, patience, len(folds), len(callbacks)) == (90, 60, 5, FOLDS, 1)
    assert data.num_data() == 4 * 90
    found = stopping.best_round(data, folds, n_rows, params, 8, 8, [])
    import lightgbm as lgb

    losses = np.zeros(8)
    for rows in folds:
        out = np.isin(np.arange(360) % 90, rows)
        train, valid = (data.subset(np.flatnonzero(mask).tolist()) for mask in (~out, out))
        history = {}
        lgb.train(params, train, 8, valid_sets=[valid], callbacks=[lgb.record_evaluation(history)])
        losses += np.array(history["valid_0"]["l2"]) / FOLDS
    assert found == np.argmin(losses) + 1


@pytest.mark.parametrize("design", NOISE_DESIGNS)
def test_a_small_table_is_fitted_to_all_rows(design):
    X, y = toy(120, d=2)
    model = tiny("default", **STOPPING, noise_design=design).fit(X, y)
    assert all(1 <= rounds < 60 for rounds in model.n_iterations_)
    assert {booster.num_trees() for booster in model.boosters_} == set(model.n_iterations_)
    again = tiny("default", **STOPPING, noise_design=design).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), again.predict(X))


def test_few_rows_hold_a_tenth_out():
    X, y = toy(9)
    assert tiny("default", **STOPPING, residualize="off").fit(X, y).n_iterations_[0] >= 1


def test_the_papers_rows_hold_a_tenth_out():
    assert {DiffGBM.from_recipe(name).eval_percent for name in ("published", "score_plus", "flow")} == {0.1}
    assert DiffGBM().eval_percent == "auto"
