"""The comparison with the predecessors, without them: plan, resume, recipes, job and table."""

import json
import math
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks.datasets import Table
from benchmarks.peers import environments, jobs
from benchmarks.peers.command import missing, plan, work
from benchmarks.peers.environments import PeerError, python_of
from benchmarks.peers.jobs import KEY, Cell, run_cell
from benchmarks.peers.recipes import (
    BOOSTING,
    OURS,
    PACKAGES,
    RECIPES,
    RELEASED,
    TREEFFUSER,
    Package,
    constructor_arguments,
    sample_arguments,
)
from benchmarks.peers.table import ratio, report, rows_of

from benchmarks import records
from diffgbm import DiffGBM


def arguments(**changes):
    base = {"data": ["a", "b"], "folds": [1, 2], "recipes": list(RECIPES), "packages": list(PACKAGES)}
    return SimpleNamespace(**{**base, "test_rows": 5, "repeats": 2, "n_samples": 20, **changes})


def record(cell, **changes):
    base = {"crps": 1.0, "coverage90": 0.9, "fit_seconds": 1.0, "sample_seconds": 0.1}
    extra = {"versions": {"package": "1"}, "source": cell.package}
    return {**{name: getattr(cell, name) for name in KEY}, **base, **extra, **changes}


def test_plan_has_every_cell_once_and_treeffuser_only_where_it_can():
    cells = plan(arguments(), {"a": 60, "b": 12})
    assert len(set(cells)) == len(cells) == 2 * 2 * 2 * (3 + 2 + 2)
    assert {c.recipe for c in cells if c.package == TREEFFUSER} == {"published"}
    assert {(c.data_set, c.test_rows) for c in cells} == {("a", 5), ("b", 2)}
    assert [c.repeat for c in cells] == sorted(c.repeat for c in cells)


def test_treeffuser_may_have_fewer_seeds():
    cells = plan(arguments(data=["kin8nm"], test_rows=None, repeats=None), {"kin8nm": 8192})
    repeats = {package: {c.repeat for c in cells if c.package == package} for package in PACKAGES}
    assert repeats[TREEFFUSER] < repeats[OURS] == repeats[RELEASED]
    (row, *_) = rows_of([record(c) for c in cells])
    assert row.seeds == f"{len(repeats[OURS])} (treeffuser {len(repeats[TREEFFUSER])})"
    half = [record(c) for c in cells if c.package != TREEFFUSER or c.fold == 1]
    assert set(rows_of(half)[0].sides) == {OURS, RELEASED}


def test_packages_share_seeds_and_folds_and_repeats_do_not():
    cells = plan(arguments(), {"a": 60, "b": 60})
    by_seed = {}
    for cell in cells:
        by_seed.setdefault(cell.seed_index, set()).add((cell.fold, cell.repeat))
    assert all(len(where) == 1 for where in by_seed.values())


def test_resuming_skips_what_is_there_and_survives_a_torn_line(tmp_path):
    path = tmp_path / "results" / "peers.jsonl"
    cells = plan(arguments(data=["a"], recipes=["flow"]), {"a": 60})
    ran = []

    def run_one(cell, table):
        if len(ran) == 3:
            raise KeyboardInterrupt
        ran.append(cell)
        return record(cell)

    with pytest.raises(KeyboardInterrupt):
        work(cells, {"a": None}, path, run_one)
    with path.open("a") as file:
        file.write('{"data_set": "a", "fold": 1, "rec')
    left = missing(cells, records.latest(path, KEY))
    assert left == cells[3:]

    work(left, {"a": None}, path, lambda cell, table: record(cell))
    actual = records.latest(path, KEY)
    assert set(actual) == {c.key for c in cells}
    assert len(list(records.read(path))) == len(cells)
    assert missing(cells, actual) == []
    assert {c.package for c in missing(cells, actual, again=[OURS])} == {OURS}


def test_the_last_of_equal_records_counts(tmp_path):
    path = tmp_path / "r.jsonl"
    for value in (1, 2):
        records.append(path, {"k": "x", "v": value})
    records.append(path, {"v": 3})
    assert records.latest(path, ["k"]) == {("x",): {"k": "x", "v": 2}}


def test_unreadable_lines_are_skipped(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_bytes(b'{"k": 1}\n\xff\xfe\n[1]\n\n{"k": 2}\n{"k":')
    assert [r["k"] for r in records.read(path)] == [1, 2]
    assert list(records.read(tmp_path / "nowhere")) == []


@pytest.mark.parametrize(
    ("name", "ours"), [("published", DiffGBM.published), ("score+", DiffGBM.score_plus), ("flow", DiffGBM.flow)]
)
def test_recipes_are_our_named_ones(name, ours):
    recipe = RECIPES[name]
    expected = ours(**BOOSTING, seed=4)
    actual = DiffGBM(**constructor_arguments(recipe, OURS, seed=4), **recipe.sampler)
    assert str(actual.recipe) == str(expected.recipe)
    for field in ("residualize", "residualize_k_folds", "extra_residualizer_params", "n_repeats", "seed"):
        if field != "extra_residualizer_params" or actual.residualize != "off":
            assert getattr(actual, field) == getattr(expected, field)


def test_treeffuser_gets_the_same_boosting_and_nothing_else():
    recipe = RECIPES["published"]
    assert constructor_arguments(recipe, TREEFFUSER, 1) == {**BOOSTING, "seed": 1}
    assert set(sample_arguments(recipe, TREEFFUSER, 200, 2)) == {"n_samples", "n_parallel", "n_steps", "seed"}
    assert constructor_arguments(recipe, OURS, 1) == constructor_arguments(recipe, RELEASED, 1)
    assert sample_arguments(recipe, OURS, 9, 1) == sample_arguments(recipe, RELEASED, 9, 1)


def test_a_job_goes_out_and_comes_back(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(120, 2))
    table = Table(X, 50.0 + 10.0 * X[:, 0] + rng.standard_normal(120), ("a", "b"), "y")
    monkeypatch.setitem(BOOSTING, "n_estimators", 20)
    result = run_cell(Cell("toy", 1, "flow", OURS, 0, 8, 30), table)
    assert 0.0 < result["crps"] < 10.0
    assert 0.0 <= result["coverage90"] <= 1.0
    assert result["seeds"] == {"model": 10_001, "sampler": 20_001}
    assert set(result["source"]) == {"commit", "tree"}
    assert result["versions"]["package"]
    json.dumps(result)


def test_a_failing_package_shows_its_output(monkeypatch):
    table = Table(np.ones((12, 1)), np.arange(12.0), ("a",), "y")
    monkeypatch.setitem(jobs.PACKAGES, OURS, Package(OURS, "no_such_module", "X", None))
    with pytest.raises(PeerError, match="no_such_module"):
        run_cell(Cell("toy", 1, "flow", OURS, 0, 2, 3), table)


def test_environments_are_made_once_and_remade_when_unfinished(tmp_path, monkeypatch):
    calls = []

    def create(folder, with_pip):
        calls.append("create")
        (folder / "bin").mkdir(parents=True)
        (folder / "bin" / "python").touch()

    monkeypatch.setattr(environments.os, "name", "posix")
    monkeypatch.setattr(environments.venv, "create", create)
    monkeypatch.setattr(environments, "_install", lambda python, requirement: calls.append(requirement))
    peer = Package("peer", "peer", "Peer", "peer==1")
    assert python_of(peer, tmp_path) == python_of(peer, tmp_path) == tmp_path / "peer" / "bin" / "python"
    assert calls == ["create", "peer==1"]
    (tmp_path / "peer" / "installed.txt").unlink()
    python_of(peer, tmp_path)
    python_of(Package("peer", "peer", "Peer", "peer==2"), tmp_path)
    assert calls[2:] == ["create", "peer==1", "create", "peer==2"]
    assert python_of(PACKAGES[OURS], tmp_path).samefile(sys.executable)


def test_table_means_over_folds_and_tells_noise_from_difference():
    cells = [
        Cell("a", fold, "flow", package, repeat, 5, 20)
        for fold in (1, 2)
        for repeat in (0, 1)
        for package in (OURS, RELEASED)
    ]
    # ours 1.1 and 2.1 on average in the two folds, the released package exactly 1 and 2
    actual = [record(c, crps=c.fold + (0.1 + 0.02 * (2 * c.repeat - 1) if c.package == OURS else 0.0)) for c in cells]
    (row,) = rows_of(actual)
    compared = ratio(row.sides[OURS], row.sides[RELEASED])
    assert compared.value == pytest.approx(1.6 / 1.5)
    # each fold's mean of two has standard error 0.02, their mean 0.02 / sqrt(2)
    assert compared.error == pytest.approx(0.02 / math.sqrt(2) / 1.5)
    assert compared.status == "worse"
    text = report(actual)
    assert "| a | flow | 1.6 | 1.5 |  | 1.067 ± 0.009 |" in text
    assert "on 0 of 1 rows (on 0 of them even with two standard errors added)" in text
    assert "; worse by more than seeds explain on 1." in text


def test_table_uses_only_what_both_have_finished():
    cells = [Cell("a", 1, "flow", OURS, r, 5, 20) for r in (0, 1)] + [Cell("a", 1, "flow", RELEASED, 0, 5, 20)]
    (row,) = rows_of([record(c, crps=1.0 + c.repeat) for c in cells])
    assert row.seeds == "1"
    assert row.sides[OURS].mean("crps") == 1.0
    assert math.isnan(ratio(row.sides[OURS], row.sides[RELEASED]).error)
    assert rows_of([record(cells[0])]) == []
    assert "No complete row yet" in report([])


def test_a_time_that_was_not_taken_is_left_blank():
    actual = [record(Cell("a", 1, "flow", package, 0, 5, 20)) for package in (OURS, RELEASED)]
    del actual[1]["sample_seconds"]
    assert "| a | flow | 1.0 | 1.0 |  | 0.10 |  |  |" in report(actual)
