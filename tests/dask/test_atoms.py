"""Atoms of a table in partitions: the values and probabilities of a table in memory, within sampling error."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip("distributed")

from diffgbm import DiffGBM, load
from diffgbm.dask import DaskDiffGBM
from diffgbm.dask.atoms import chosen_model, continuous_table, find_piles, fit_piles, loss_sums, relative_error
from diffgbm.dask.first_stage import PartitionedTable
from diffgbm.dask.limits import ResponseFacts, column_facts
from diffgbm.dask.reading import Part
from diffgbm.data.response import ResponseTable
from diffgbm.data.structure import INDEPENDENT, Structure
from diffgbm.first_stage import Task
from diffgbm.first_stage.assembly import no_first_stage_values
from diffgbm.fitting.atoms import TRUST, atom_values, fit_atoms, log_loss
from diffgbm.fitting.limits import find_support, wanted_atoms
from tests.dask.tables import SMALL, InlineGroup, cut

N = 600
SEED = np.random.SeedSequence(5)


def zero_inflated(n=N, seed=0):
    """Rows, responses that are zero with a probability that grows with the first column, and that probability."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 3))
    p = 0.1 + 0.7 * X[:, 0]
    return X, np.where(rng.random(n) < p, 0.0, np.exp(X[:, 1] + 0.5 * rng.standard_normal(n))), p


def partitioned(X, y, cuts=(0, 150, 400, N), weights=None, structure=INDEPENDENT):
    """A table in partitions that are in this process, and how its responses are standardised."""
    y = y.reshape(len(y), -1)
    response = ResponseTable.learn(y if y.shape[1] > 1 else y[:, 0], weights, len(y))[0]
    pieces = [np.arange(len(y))[slice(*ends)] for ends in pairwise(cuts)]
    standard = response.standardise(y)
    parts = [Part(X[at], standard[at], None if weights is None else weights[at], at, observed=y[at]) for at in pieces]
    sizes = list(map(len, pieces))
    group = InlineGroup(len(parts))
    return PartitionedTable(group, parts, sizes, y.shape[1], [], SEED, 4, 1, 1, structure), response


def found_piles(table, response, **params):
    params = {"atoms": None, "support": None, "discrete": False, **params}
    facts = [column_facts(p.observed, np.ones(len(p.X), dtype=bool), params["support"]) for p in table.parts]
    return find_piles(table, ResponseFacts.of(response, facts, params), params)


@pytest.mark.parametrize(
    "params",
    [
        {"support": (0, None)},
        {"support": (0, 2.5)},
        {"support": "auto"},
        {"support": (-1, None)},
        {"atoms": "auto"},
        {"atoms": [2.5, 7.0]},
        {"atoms": "auto", "support": (0, None)},
    ],
)
def test_atoms_are_those_of_a_table_in_memory(params):
    X, y, _ = zero_inflated()
    y = np.minimum(y, 2.5)
    y[::13] = 1.25  # 8% of the rows
    weights = np.linspace(0.5, 1.5, N)
    (piles,), _ = found_piles(*partitioned(X, y, weights=weights), **params)
    support = find_support(params.get("support"), False, y, np.arange(N))
    wanted = wanted_atoms(params.get("atoms"), params.get("support"), support, y)
    if wanted is None:
        assert piles is None
        return
    expected = atom_values(y, wanted)
    np.testing.assert_array_equal(piles.values, expected)
    np.testing.assert_allclose(piles.base, [np.average(y == value, weights=weights) for value in expected])
    assert piles.limits == (0.0 if 0.0 in expected else -np.inf, 2.5 if 2.5 in expected else np.inf)


def test_without_limits_nothing_is_counted_and_atoms_must_leave_rows():
    X, y, _ = zero_inflated()
    table, response = partitioned(X, y)
    assert find_piles(table, ResponseFacts(response, [], [None]), {}) == ([None], [None])
    few = np.where(np.arange(N) < 10, np.arange(N), 0.0)
    with pytest.raises(ValueError, match=r"leave at least 20 rows .*; \[0.0\] leave 9. Name fewer atoms"):
        found_piles(*partitioned(X, few), atoms=[0.0])


@pytest.mark.parametrize("is_sorted", [False, True])
def test_classifiers_are_close_to_those_of_a_table_in_memory(is_sorted):
    X, y, p = zero_inflated()
    rows = np.argsort(y) if is_sorted else np.arange(N)
    table, response = partitioned(X[rows], y[rows])
    piles, _ = found_piles(table, response, support=(0, None))
    (atoms,) = fit_piles(table, piles, SEED)
    local = fit_atoms(Task(X, y[:, None], [], None, 2, 1, 5, 1), y, np.zeros(1)).atoms
    assert len(atoms.predictor.models[0]) == len(local.predictor.models[0]) == 5
    errors = [np.abs(each.probabilities(X)[:, 0] - p).mean() for each in (atoms, local)]
    assert errors[0] < 1.3 * errors[1]
    assert errors[0] < 0.6 * np.abs(atoms.base - p).mean()
    np.testing.assert_array_equal(atoms.base, local.base)
    assert (atoms.low, atoms.high) == (0.0, np.inf)


def test_noise_is_not_trusted():
    X, y, _ = zero_inflated()
    y = np.random.default_rng(1).permutation(y)
    table, response = partitioned(X, y)
    (atoms,) = fit_piles(table, found_piles(table, response, atoms=[0.0])[0], SEED)
    assert np.abs(atoms.probabilities(X) - atoms.base).max() < 0.1


def test_by_time_one_classifier_of_all_rows_predicts_and_another_response_has_none():
    X, y, p = zero_inflated()
    both = np.column_stack([np.random.default_rng(0).normal(size=N), y])
    table, response = partitioned(X, both, structure=Structure(None, np.arange(N) // 2))
    piles, supports = found_piles(table, response, support=[None, (0, None)])
    assert piles[0] is supports[0] is None
    assert supports[1].atoms.tolist() == [0.0]
    nothing, atoms = fit_piles(table, piles, SEED)
    assert nothing is None
    assert len(atoms.predictor.models[0]) == 1
    assert np.corrcoef(atoms.probabilities(X)[:, 0], p)[0, 1] > 0.9


def test_sums_of_losses_decide_as_their_mean_over_all_rows():
    rng = np.random.default_rng(0)
    hit, p, w = (rng.random(90) < 0.4) * 1.0, rng.uniform(size=90), rng.uniform(0.5, 2.0, 90)
    p[:7] = np.nan
    sums = sum(loss_sums(hit[at], p[at], 0.4, w[at]) for at in (slice(0, 7), slice(7, 30), slice(30, 90)))
    expected = [log_loss(hit, 0.4 + trust * (p - 0.4), w) for trust in TRUST]
    np.testing.assert_allclose(sums / w[7:].sum(), expected, rtol=1e-12)
    assert chosen_model(np.array([sums + 1.0, sums])) == (1, int(np.argmin(expected)))


@pytest.mark.parametrize("ordered", [False, True])
def test_the_continuous_part_is_standardised_anew_and_keeps_its_rows(ordered):
    X, y, _ = zero_inflated()
    y = np.sort(y)  # the first partition has zeros only
    structure = Structure(None, np.arange(N)[::-1]) if ordered else INDEPENDENT
    table, response = partitioned(X, y, structure=structure)
    rest, learned = continuous_table(table, np.zeros(1), response)
    rows = np.flatnonzero(y)
    assert rest.part_rows == [np.sum((rows >= a) & (rows < b)) for a, b in ((150, 400), (400, N))]
    np.testing.assert_array_equal(np.concatenate([part.positions for part in rest.parts]), rows)
    expected, standard = ResponseTable.learn(y[rows], None, len(rows))
    np.testing.assert_allclose(learned.scale, expected.scale, rtol=1e-12)
    np.testing.assert_allclose(np.concatenate([part.y for part in rest.parts]), standard, atol=1e-12)
    if ordered:
        np.testing.assert_array_equal(rest.structure.order, np.arange(len(rows))[::-1])


def test_the_error_of_a_location_is_relative_to_that_of_the_mean():
    X, y, _ = zero_inflated()
    table, _ = partitioned(X, y)
    for part, expected in ((0.0, 1.0), (0.5, 0.25), (2.0, 1.0), (-1.0, 4.0)):
        values = [replace(no_first_stage_values(p.y), location=part * p.y) for p in table.parts]
        assert relative_error(table, values) == pytest.approx(expected)


def test_a_zero_inflated_table_sorted_by_its_response(client, tmp_path):
    X, y, p = zero_inflated(900)
    order = np.argsort(y)  # the first worker has hardly anything but zeros, the last none
    lazy = cut(X[order], y[order], (250, 250, 200, 200))
    model = DaskDiffGBM.flow(**SMALL, support=(0, None)).fit(*lazy, client=client)
    local = DiffGBM.flow(**SMALL, support=(0, None)).fit(X, y)
    fresh, truth, p = zero_inflated(500, seed=1)
    distributions = [each.predict_distribution(fresh) for each in (model.to_local(), local)]
    errors = [np.abs(dist.pmf(0.0) - p).mean() for dist in distributions]
    assert errors[0] < 1.3 * errors[1] < 0.08
    scores = [dist.crps(truth).mean() for dist in distributions]
    assert scores[0] < 1.05 * scores[1]
    samples = model.sample(cut(fresh, truth, (300, 200))[0], 20, seed=0).compute()
    assert samples.min() == 0.0
    assert np.mean(samples == 0.0) == pytest.approx(p.mean(), abs=0.03)
    assert model.to_local().predict_interval(fresh).min() >= 0.0
    model.save(tmp_path / "model.dgbm")
    np.testing.assert_array_equal(load(tmp_path / "model.dgbm").sample(fresh, 20, seed=0), samples)


def test_two_responses_keep_their_atoms(client):
    X, y, p = zero_inflated(400)
    both = np.column_stack([y, X[:, 2] + 0.1 * np.random.default_rng(0).normal(size=400)])
    model = DaskDiffGBM.flow(**SMALL, support=[(0, None), None]).fit(*cut(X, both, (200, 200)), client=client)
    samples = model.to_local().sample(X, 20, seed=0)
    assert samples[:, :, 0].min() == 0.0
    assert np.corrcoef(np.mean(samples[:, :, 0] == 0.0, axis=0), p)[0, 1] > 0.7


@pytest.mark.parametrize("params", [{"support": "auto"}, {"atoms": [0.0]}])
def test_one_partition_has_the_atoms_of_the_table_in_memory_to_the_last_bit(client, params):
    X, y, _ = zero_inflated(200)
    ours = DaskDiffGBM.flow(**SMALL, **params).fit(*cut(X, y, (0, 200)), client=client).to_local()
    local = DiffGBM.flow(**SMALL, **params).fit(X, y)
    np.testing.assert_array_equal(ours.sample(X, 5, seed=0), local.sample(X, 5, seed=0))
    np.testing.assert_array_equal(ours.predict_distribution(X).pmf(0.0), local.predict_distribution(X).pmf(0.0))


def test_groups_that_are_all_atoms_but_few_are_refused(client):
    X, y, _ = zero_inflated()
    groups = np.arange(N) % 120
    y = np.where(groups < 5, y + 1.0, 0.0)
    lazy = cut(X, y, (300, 300))
    settings = {**SMALL, "early_stopping_rounds": 5}
    with pytest.raises(ValueError, match=r"Of rows whose response is no atom, groups must have at least 100 .* got 5"):
        DaskDiffGBM.flow(**settings, atoms=[0.0]).fit(*lazy, client=client, groups=cut(X, groups, (300, 300))[1])
