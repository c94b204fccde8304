"""The comparison with other packages: scores, cells, lines that are not repeated, and a page that says what lacks."""

import json
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks.__main__ import main
from benchmarks.peers.environments import PeerError
from benchmarks.rivals import command, front, jobs, runner
from benchmarks.rivals.contestants import CONTESTANTS
from benchmarks.rivals.figure import Point, draw, summary_points
from benchmarks.rivals.jobs import Cell, run_cell, run_contestant
from benchmarks.rivals.page import coverage_error, page
from benchmarks.rivals.problems import KNOWN, TABLES, Problem, known_problem, limited, problem
from benchmarks.rivals.results import block, geometric_ratios, lower, shown_folds
from benchmarks.rivals.scores import LEVELS, scores
from scipy.stats import norm

from benchmarks import records


def test_scores_of_the_truth():
    rng = np.random.default_rng(0)
    y = rng.standard_normal(20_000)
    found = scores(np.tile(norm.ppf(LEVELS), (len(y), 1)), y)
    assert found["crps"] == pytest.approx(1.0 / np.sqrt(np.pi), rel=0.03)
    assert found["coverage_50"] == pytest.approx(0.5, abs=0.015)
    assert found["coverage_90"] == pytest.approx(0.9, abs=0.01)
    assert found["width_90"] == pytest.approx(2.0 * norm.ppf(0.95))
    # no interval has a lower expected score
    assert found["interval_score_90"] < scores(np.tile(1.2 * norm.ppf(LEVELS), (len(y), 1)), y)["interval_score_90"]
    with pytest.raises(ValueError, match="all finite: False"):
        scores(np.full((2, 99), np.nan), np.zeros(2))


def test_tables_are_the_same_for_all():
    first, again = known_problem("bimodal", 1), known_problem("bimodal", 1)
    np.testing.assert_array_equal(first.X_train, again.X_train)
    assert not np.array_equal(first.y_train[:5], known_problem("bimodal", 2).y_train[:5])
    assert 0.0 < first.oracle < np.std(first.y_test)
    assert len(TABLES) == 10
    assert len(KNOWN) == 5
    real = problem("diabetes", 1, SimpleNamespace(data_dir=None))
    assert real.oracle is None
    assert len(real.y_train) + len(real.y_test) == 442
    part = limited(SimpleNamespace(train=np.arange(100), test=np.arange(100, 150)), 10, 20)
    assert (len(part.train), len(part.test)) == (10, 20)


def test_each_contestant_has_a_recipe_and_a_pinned_version():
    for contestant in CONTESTANTS.values():
        assert contestant.recipe in runner.RECIPES
        assert contestant.ours or "==" in contestant.requirement
    shared = {c.environment: c.requirement for c in CONTESTANTS.values()}
    assert all(shared[c.environment] == c.requirement for c in CONTESTANTS.values())


def test_contestants_without_a_limit_are_fitted_once():
    cells = command.plan(["yacht"], [1], ["fast", "ngboost"], [120.0, 30.0], 1)
    assert [(cell.contestant, cell.limit) for cell in cells] == [("fast", 30.0), ("ngboost", None), ("fast", 120.0)]


def line(cell, crps, seconds=10.0):
    rest = {"coverage_50": 0.5, "coverage_90": 0.9, "interval_score_90": crps, "width_90": 1.0, "peak_megabytes": 100.0}
    times = {"fit_seconds": seconds, "predict_seconds": 1.0, "row_microseconds": 10.0, "oracle": 0.25}
    source = {"commit": "abc", "tree": "def"} if CONTESTANTS[cell.contestant].ours else "x==1"
    return {
        **dict(zip(jobs.KEY, cell.key, strict=True)),
        "crps": crps,
        **rest,
        **times,
        "oracle": 0.25,
        "source": source,
    }


def test_lines_are_not_repeated_and_failures_only_on_demand(tmp_path):
    path = tmp_path / "rivals.jsonl"
    cells = command.plan(["yacht"], [1, 2], ["fast", "ngboost"], [30.0], 1)

    def run_one(cell, problem, longest):
        assert longest == 30.0
        return {**line(cell, 1.0), "failed": "no luck"} if cell.contestant == "ngboost" else line(cell, 1.0)

    assert command.work(cells[:3], lambda name, fold: None, path, 30.0, None, run_one) == 3
    done = records.latest(path, jobs.KEY)
    assert command.to_do(cells, done) == cells[3:]
    assert command.to_do(cells, done, retry=True) == [cells[1], cells[3]]
    assert command.to_do(cells, done, again=["fast"]) == [cells[0], cells[2], cells[3]]
    busy = {key: {**found, "load": 3.0} for key, found in done.items()}
    assert command.to_do(cells, busy, retry=True) == cells
    assert command.to_do(cells, busy) == cells[3:]
    shared = {key: {**found, "fit_processor_seconds": 5.0} for key, found in done.items()}
    assert command.to_do(cells, shared, retry=True) == cells
    # a fit that had its core is not disturbed by what runs on others; of several cores the load has to tell
    alone = {key: {**found, "fit_processor_seconds": 9.9} for key, found in busy.items()}
    assert not any(map(jobs.is_busy, alone.values()))
    assert all(jobs.is_busy({**found, "threads": 2}) for found in alone.values())
    times = iter([0.0, 0.0, 100.0])
    assert command.work(cells, lambda name, fold: None, path, 30.0, 1.0, run_one, lambda: next(times)) == 1


CELLS = command.plan(["yacht", "energy", "bimodal"], [1, 2], ["fast", "ngboost", "quantile_forest"], [30.0], 1)


def lines():
    value = {"fast": 1.0, "ngboost": 1.5, "quantile_forest": 2.0}
    return [line(cell, value[cell.contestant] * cell.fold) for cell in CELLS]


def test_a_block_averages_folds_and_leaves_out_who_was_too_slow():
    found = block(lines(), 30.0, 1, [1, 2])
    assert found.tables == ("yacht", "energy", "bimodal")
    np.testing.assert_allclose(found.values("crps", ["ngboost"]), [[2.25, 2.25, 2.25]])
    assert geometric_ratios(found, "fast")["ngboost"] == (pytest.approx(1.5), 3)
    slow = [
        line(c, 1.0, 37.0 if c.table == "energy" else 10.0) if c.contestant == "ngboost" else x
        for c, x in zip(CELLS, lines(), strict=True)
    ]
    found = block(slow, 30.0, 1, [1, 2])
    assert np.isnan(found.values("crps", ["ngboost"])[0, 1])
    assert found.late == {("ngboost", "energy")}
    # it was run on all tables, and is last on the one on which it took too long
    assert found.complete == ("fast", "ngboost", "quantile_forest")
    np.testing.assert_array_equal(found.to_rank(["ngboost"]), [[1.0, np.inf, 1.0]])
    assert lower(found, "fast") == {"fast": 0, "ngboost": 2, "quantile_forest": 0}
    not_run = [x for x in lines() if (x["contestant"], x["table"]) != ("ngboost", "energy")]
    assert block(not_run, 30.0, 1, [1, 2]).complete == ("fast", "quantile_forest")
    longer = block(lines(), 120.0, 1, [1, 2])
    assert list(map(longer.label, longer.contestants)) == ["AutoDiffGBM fast (30 s)", "NGBoost", "quantile-forest"]
    assert block(lines(), 20.0, 1, [1, 2]).contestants == ("ngboost", "quantile_forest")
    assert block(lines(), 30.0, 2, [1, 2]).contestants == ()
    one_fold = block([x for x in lines() if x["fold"] == 1 or x["contestant"] == "fast"], 30.0, 1, [1, 2])
    assert one_fold.contestants == ("fast",)


def test_folds_are_those_that_our_contestant_has():
    assert shown_folds(lines(), 30.0, 1, [1, 2]) == (1, 2)
    later = [x for x in lines() if x["contestant"] != "fast" or x["fold"] == 1 or x["table"] == "yacht"]
    assert shown_folds(later, 30.0, 1, [1, 2]) == (1,)
    assert shown_folds(later, 120.0, 1, [1, 2]) == (1,)
    assert shown_folds([], 120.0, 1, [1, 2]) == ()


def test_a_table_that_is_predicted_exactly_is_left_out_of_ratios():
    exact = {"table": "naval", "crps": 0.0, "interval_score_90": 0.0, "coverage_90": 1.0}
    mine = [{**x, **(exact if x["table"] == "yacht" else {})} for x in lines() if x["fold"] == 1]
    with np.errstate(divide="raise", invalid="raise"):
        found = block(mine, 30.0, 1, [1])
        assert geometric_ratios(found, "fast")["ngboost"] == (pytest.approx(1.5), 2)
        np.testing.assert_allclose(coverage_error(found, found.contestants, 90), 0.0, atol=1e-12)
        assert "without naval" in page(mine, CELLS, 1, [1], None)
        assert summary_points([found])["ngboost"][0].tables == 2


def test_the_page_ranks_and_says_what_is_missing():
    everything = command.plan(
        ["yacht", "energy", "bimodal"], [1, 2], [*dict.fromkeys(c.contestant for c in CELLS), "best"], [30.0], 1
    )
    text = page(lines(), everything, 1, [1, 2], "rivals.png")
    assert "6 of 24 fits are missing and 0 failed" in text
    assert "Missing at 30 s: AutoDiffGBM best 6 of 6." in text
    longer = command.plan(["yacht", "energy", "bimodal"], [1, 2], ["fast", "best"], [30.0, 600.0], 1)
    assert "Missing at 600 s: everything." in page(lines(), longer, 1, [1, 2], None)
    assert "| AutoDiffGBM fast | 1.00 | 1.000 |  | 3 |" in text
    assert "| NGBoost | 2.00 | 1.500 | 0 | 3 |" in text
    assert "| *the truth* | 0.25 |" in text
    assert "Folds 1 and 2." in text
    assert "Nemenyi" in text
    assert "![CRPS against time](rivals.png)" in text
    broken = [*lines()[1:], {**lines()[0], "failed": "exit code 1: out of\nmemory"}]
    assert "AutoDiffGBM fast failed 1 times, the last time with: memory" in page(broken, CELLS, 1, [1, 2], None)
    assert "All 18 fits were made" in page(lines(), CELLS, 1, [1, 2], None)
    assert "busy machine" not in text
    crowded = [{**lines()[0], "load": 2.0}, *lines()[1:]]
    assert "1 of 18 fits ran on a busy machine" in page(crowded, CELLS, 1, [1, 2], None)


def test_the_figure(tmp_path):
    pytest.importorskip("matplotlib")
    blocks = [block(lines(), limit, 1, [1, 2]) for limit in (30.0, 120.0)]
    points = summary_points(blocks)
    assert points["fast"] == [Point(30.0, pytest.approx(11.0), pytest.approx(1.0), 3)]
    # it takes no limit: one point
    assert points["ngboost"] == [Point(120.0, pytest.approx(11.0), pytest.approx(1.5), 3)]
    assert draw(blocks, tmp_path / "rivals.png").stat().st_size > 1000
    assert draw([], tmp_path / "none.png") is None


ROWS = Problem(np.arange(20.0)[:, None], np.arange(20.0), np.arange(5.0)[:, None], np.arange(5.0))


def test_the_runner_writes_sorted_quantiles_and_a_report(tmp_path, monkeypatch):
    def recipe(X, y, spec):
        assert spec["seed"] == 3
        assert "colorsys" in sys.modules  # imported before the clock started
        sum(i * i for i in range(2_000_000))
        return lambda rows: np.tile(spec["levels"][::-1], (len(rows), 1))

    monkeypatch.setitem(runner.RECIPES, "mine", recipe)
    monkeypatch.setattr(runner, "pinned", lambda threads: None)
    monkeypatch.setitem(runner.MODULES, "mine", ("colorsys",))
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    spec = {"recipe": "mine", "name": "me", "path": None, "levels": [0.1, 0.5, 0.9], "threads": 1, "seed": 3}
    job = {"X_train": ROWS.X_train, "y_train": ROWS.y_train, "X_test": ROWS.X_test}
    np.savez(tmp_path / "job.npz", spec=json.dumps(spec), **job)
    runner.main(str(tmp_path / "job.npz"), str(tmp_path / "result.npz"))
    with np.load(tmp_path / "result.npz") as out:
        np.testing.assert_array_equal(out["quantiles"], np.tile([0.1, 0.5, 0.9], (5, 1)))
        report = json.loads(str(out["report"]))
    assert report["fit_seconds"] >= 0.0
    assert 0.0 < report["fit_processor_seconds"] < report["fit_seconds"] + 0.1
    assert report["peak_megabytes"] > 10.0
    assert "numpy" in report["versions"]


def test_memory_is_that_of_the_process_itself(tmp_path):
    """A small process that a large one started is small."""
    large = np.ones(60_000_000)  # half a gigabyte
    code = "import runpy, sys; m = runpy.run_path(sys.argv[1]); print(m['peak_megabytes']())"
    done = subprocess.run([sys.executable, "-c", code, runner.__file__], capture_output=True, text=True, check=True)
    assert 5.0 < float(done.stdout) < 0.5 * large.nbytes / 2**20


def test_a_process_that_fails_or_hangs_is_a_line(tmp_path, monkeypatch):
    script = tmp_path / "runner.py"
    monkeypatch.setattr(jobs, "RUNNER", script)
    cell = Cell("yacht", 1, "flow", None, 1)
    script.write_text("raise SystemExit('/home/me/a.py\\nit broke')")
    assert run_cell(cell, ROWS, 30.0)["failed"] == "exit code 1: it broke"
    script.write_text("import time; time.sleep(60)")
    monkeypatch.setattr(jobs, "STARTING", 0.3)
    monkeypatch.setattr(jobs, "PATIENCE", 0.0)
    with pytest.raises(PeerError, match="no answer after 0 s"):
        run_contestant(CONTESTANTS["flow"], cell, ROWS, 30.0)


def test_a_line_has_scores_costs_and_provenance(monkeypatch):
    quantiles = np.tile(norm.ppf(LEVELS), (5, 1))
    report = {"fit_seconds": 1.0, "predict_seconds": 0.5, "peak_megabytes": 9.0}
    monkeypatch.setattr(jobs, "run_contestant", lambda *args: (quantiles, report))
    found = run_cell(Cell("yacht", 1, "ngboost", None, 1), ROWS, 30.0)
    assert found["row_microseconds"] == pytest.approx(1e5)
    assert found["source"] == "ngboost==0.5.11"
    assert {"crps", "coverage_50", "coverage_90", "interval_score_90", "train_rows", "oracle"} <= set(found)


def test_the_command_writes_a_page_of_what_there_is(tmp_path, capsys):
    for each in lines():
        records.append(tmp_path / "rivals.jsonl", each)
    assert main(["rivals", "--page-only", "--threads", "1", "--results", str(tmp_path)]) == 0
    assert "Not complete" in (tmp_path / "rivals.md").read_text()


def test_the_table_of_the_readme_has_ranks_losses_and_costs():
    better = [{**x, "crps": 0.1} if (x["contestant"], x["table"]) == ("ngboost", "energy") else x for x in lines()]
    rows = front.table(better, 30.0).splitlines()[2:]
    assert rows == [
        "| AutoDiffGBM fast | 1.3 | 1.00 |  | 0.000 | 10.0 | 0.01 |",
        "| NGBoost | 1.7 | 0.53 | 1 of 3 | 0.000 | 10.0 | 0.01 |",
        "| quantile-forest | 3.0 | 2.00 | 0 of 3 | 0.000 | 10.0 | 0.01 |",
    ]
    unfinished = [x for x in lines() if (x["contestant"], x["table"]) != ("ngboost", "energy")]
    assert "NGBoost" not in front.table(unfinished, 30.0)
