"""Evaluation: the scores of a fold, the line they are written to, and continuing after an interruption."""

from __future__ import annotations

import json
import signal
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from benchmarks.configs import Config
from benchmarks.datasets import Table
from benchmarks.evaluation import KEY, LEVELS, evaluate, scores
from benchmarks.layout import Layout
from benchmarks.protocol import EVALUATION_FOLDS, prepare
from benchmarks.selection import SYNTHETIC, load_table
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import configs, evaluation, records
from diffgbm._util.locks import held
from tests.benchmarks import fake_families as fake

FIELDS = {
    *("data_set", "family", "fold", "n_train", "n_test", "n_features", "n_samples", "metrics", "fit_seconds"),
    *(
        "sample_seconds",
        "fit_cpu_seconds",
        "sample_cpu_seconds",
        "params",
        "sampler",
        "seeds",
        "threads",
        "budget",
        "versions",
        "python",
        "commit",
    ),
    *("source_hash", "time"),
}


@pytest.fixture
def table() -> Table:
    return load_table(SYNTHETIC, None)


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    """A results directory in which a configuration of each family is selected."""
    layout = Layout(tmp_path / "results").prepare()
    for family in fake.FAMILIES:
        select(layout, family, 0.5)
    return layout


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "log"
    folder.mkdir()
    monkeypatch.setenv("FAKE_LOG", str(folder))
    return folder


def select(layout: Layout, family: str, shift: float) -> None:
    budget = {"trials": 3, "minutes": None}
    config = Config(SYNTHETIC, family, {"shift": shift}, 1.0, 3, 3, 1, budget, 2.0, {"numpy": "2"}, "c", "h")
    configs.write(layout.config(SYNTHETIC, family), config)


def lines(layout: Layout) -> list[records.Record]:
    return list(records.read(layout.evaluation))


@settings(deadline=None, max_examples=40)
@given(
    st.floats(-5.0, 5.0).filter(lambda d: abs(d) > 1e-3),
    st.integers(2, 30),
    st.integers(5, 40),
    st.integers(0, 2**32 - 1),
)
def test_scores_of_one_value_are_those_of_the_error(error, n_samples, n, seed):
    rng = np.random.default_rng(seed)
    y, y_train = rng.normal(size=n), rng.normal(size=50)
    actual = scores(np.tile(y + error, (n_samples, 1)), y, y_train)
    for name in ("crps", "rmse", "mae"):
        assert actual[name] == pytest.approx(abs(error), rel=1e-6)
    assert actual["crpss"] == pytest.approx(1.0 - abs(error) / actual["crps_climatology"], rel=1e-6)
    assert actual["dss"] == pytest.approx(np.log(1e-12) + error**2 / 1e-12, rel=1e-4)
    assert actual["pit_ks"] == pytest.approx(1.0)
    assert actual["q_mace"] == pytest.approx(0.5)
    for level in LEVELS:
        percent = round(100 * level)
        assert actual[f"coverage_{percent}"] == 0.0
        assert actual[f"coverage_error_{percent}"] == actual[f"iqr_mace_{percent}"] == pytest.approx(level)
        assert actual[f"width_{percent}"] == pytest.approx(0.0, abs=1e-12)
        assert actual[f"iqr_coverage_{percent}"] == [0.0] * 5


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_scores_agree_with_each_other(fifth, seed):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=5 * fifth)
    samples = rng.normal(size=(40, 5 * fifth)) * rng.uniform(0.2, 2.0, size=5 * fifth)
    actual = scores(samples, y, rng.normal(size=30))
    widths = [actual[f"width_{round(100 * level)}"] for level in LEVELS]
    assert widths == sorted(widths)
    for level in LEVELS:
        percent = round(100 * level)
        inside = actual[f"coverage_{percent}"]
        assert actual[f"coverage_error_{percent}"] == pytest.approx(abs(inside - level))
        # five bins of equal size share out the coverage
        assert np.mean(actual[f"iqr_coverage_{percent}"]) == pytest.approx(inside)
        assert actual[f"coverage_error_{percent}"] <= actual[f"iqr_mace_{percent}"] + 1e-12
    json.dumps(actual)


def test_a_line_has_everything(table, layout):
    result = evaluate(fake.POINT, table, SYNTHETIC, 3, layout, threads=2, clock=iter([5.0, 7.0, 7.5]).__next__)
    (line,) = lines(layout)
    fold = prepare(table, 3)
    value = 0.5 * fold.response.scale + fold.response.mean
    assert result.state == "evaluated"
    assert set(line) == FIELDS
    assert line["metrics"]["crps"] == pytest.approx(np.mean(np.abs(fold.y_test - value)))
    assert (line["fit_seconds"], line["sample_seconds"]) == (2.0, 0.5)
    assert line["seeds"] == {"data": 3, "model": 10_003, "sampler": 20_003}
    assert (line["n_train"], line["n_test"], line["n_features"], line["n_samples"]) == (250, 50, 2, 200)
    assert line["params"] == {"shift": 0.5}
    assert line["budget"] == {
        **{"trials": 3, "minutes": None},
        **{"n_trials_target": 3, "n_trials_finite": 3, "n_trials_failed": 1, "n_trials_pruned": 0},
    }
    assert (line["threads"], line["sampler"]) == (2, "none")
    assert set(line["versions"]) == {"diffgbm", "numpy", "scikit-learn", "scipy"}


@pytest.mark.parametrize("packages", [("scipy",), ("numba", "scipy")])
def test_kernels_are_compiled_before_the_clock_runs_if_there_are_any(table, layout, monkeypatch, packages):
    seen = []
    monkeypatch.setattr(evaluation, "_warm_up", lambda: seen.append("warm"))
    family = replace(fake.POINT, packages=packages)
    evaluate(family, table, SYNTHETIC, 1, layout, clock=lambda: seen.append("clock") or float(len(seen)))
    assert seen == ["warm"] * ("numba" in packages) + ["clock"] * 3


def test_existing_lines_are_kept(table, layout, log):
    states = [evaluate(fake.NOISE, table, SYNTHETIC, fold, layout).state for fold in (1, 2, 1, 2)]
    assert states == ["evaluated", "evaluated", "kept", "kept"]
    assert fake.n_fits(log) == len(lines(layout)) == 2


@pytest.mark.parametrize("change", ["configuration", "rows", "samples", "force"])
def test_an_outdated_line_is_computed_again_and_the_last_counts(table, layout, change):
    evaluate(fake.NOISE, table, SYNTHETIC, 1, layout)
    options = {"rows": {"test_rows": 20}, "samples": {"n_samples": 50}, "force": {"force": True}}.get(change, {})
    if change == "configuration":
        select(layout, "noise", 0.6)
    assert evaluate(fake.NOISE, table, SYNTHETIC, 1, layout, **options).state == "evaluated"
    assert len(lines(layout)) == 2
    (line,) = records.latest(layout.evaluation, KEY).values()
    assert line == lines(layout)[1]
    assert line["params"] == {"shift": 0.6 if change == "configuration" else 0.5}
    assert (line["n_test"], line["n_samples"]) == (20 if change == "rows" else 50, 50 if change == "samples" else 200)


def test_a_torn_last_line_is_computed_again_and_damages_no_other(table, layout, log):
    for fold in (1, 2, 3):
        evaluate(fake.NOISE, table, SYNTHETIC, fold, layout)
    whole = lines(layout)
    content = layout.evaluation.read_bytes()
    layout.evaluation.write_bytes(content[:-40])
    states = [evaluate(fake.NOISE, table, SYNTHETIC, fold, layout).state for fold in (1, 2, 3)]
    assert states == ["kept", "kept", "evaluated"]
    assert fake.n_fits(log) == 4
    assert [line["metrics"] for line in lines(layout)] == [line["metrics"] for line in whole]


def test_samples_that_are_not_finite_give_no_line(table, layout):
    select(layout, "point", -2.5)
    with pytest.raises(ValueError, match=r"100.00% of the samples are not finite"):
        evaluate(fake.POINT, table, SYNTHETIC, 1, layout)
    assert not lines(layout)


def test_samples_of_another_shape_give_no_line(table, layout):
    class Turned(fake.Noise):
        def sample(self, X, n_samples):
            return super().sample(X, n_samples).T

    family = replace(fake.NOISE, build=lambda params, seeds, n_jobs: Turned(0.0, seeds, n_jobs))
    with pytest.raises(ValueError, match=r"samples have shape \(50, 200\), expected \(200, 50\)"):
        evaluate(family, table, SYNTHETIC, 1, layout)


def test_nothing_is_evaluated_before_it_is_tuned(table, layout):
    assert evaluate(fake.CORNERED, table, SYNTHETIC, 1, layout).state == "untuned"


def test_a_fold_in_progress_elsewhere_is_skipped(table, layout, log):
    with held(layout.fold_lock(SYNTHETIC, "noise", 1)):
        assert evaluate(fake.NOISE, table, SYNTHETIC, 1, layout).state == "shared"
    assert fake.n_fits(log) == 0


def evaluate_all(table: Table, layout: Layout) -> list[str]:
    return [evaluate(fake.NOISE, table, SYNTHETIC, fold, layout).state for fold in EVALUATION_FOLDS]


def test_a_killed_evaluation_continues(table, layout, log):
    process = fake.begin(partial(evaluate_all, table, layout), FAKE_HANG="3")
    fake.wait_until((log / "hanging").exists)
    process.kill()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert [line["fold"] for line in lines(layout)] == [1, 2]
    assert evaluate_all(table, layout) == ["kept", "kept", "evaluated", "evaluated", "evaluated"]
    assert [line["fold"] for line in lines(layout)] == [1, 2, 3, 4, 5]
    assert fake.n_fits(log) == 6


def test_two_processes_write_every_line_once(table, layout, log):
    processes = [fake.begin(partial(evaluate_all, table, layout), FAKE_MEET="2") for _ in range(2)]
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0]
    assert len(fake.fitting_processes(log)) == 2
    assert sorted(line["fold"] for line in lines(layout)) == [1, 2, 3, 4, 5]
    assert fake.n_fits(log) == 5


def append_many(path: Path, writer: int) -> None:
    for number in range(20):
        records.append(path, {"writer": writer, "number": number, "text": "x" * 20_000})


def test_lines_of_several_processes_do_not_mix(tmp_path):
    path = tmp_path / "lines.jsonl"
    processes = [fake.begin(partial(append_many, path, writer)) for writer in range(3)]
    for process in processes:
        process.join()
    assert len(path.read_bytes().splitlines()) == 60
    actual = {(r["writer"], r["number"]) for r in records.read(path)}
    assert actual == {(writer, number) for writer in range(3) for number in range(20)}
