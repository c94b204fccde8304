"""The comparison of the automatic fit: recorded lines, their tables, and which targets are met."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import pytest
from benchmarks.__main__ import main
from benchmarks.automatic import command
from benchmarks.automatic.lines import (
    KEY,
    MOST_DRAWS,
    NEXT_DRAW,
    attainable_coverage,
    line_of,
    make_estimator,
    measured,
    n_draws,
)
from benchmarks.automatic.pages import page
from benchmarks.automatic.rivals import NO_RIVALS, Rivals
from benchmarks.automatic.summary import BEST_OF_NINE, FLOW, Fits, Lines, geometric_mean, metric, of_exact_distributions
from benchmarks.automatic.targets import targets
from benchmarks.automatic.variants import DATA_SETS, REPEATED_DATA, VARIANTS, Job, deduplicated
from benchmarks.evaluation import scores
from benchmarks.protocol import seeds, split
from benchmarks.table_files import Table
from benchmarks.tables import render

from benchmarks import records
from diffgbm._util.locks import held
from diffgbm.auto.presets import PRESETS
from diffgbm.metrics.scores import crps
from tests.auto.tiny_auto import TINY, auto, small_trees  # noqa: F401

JOB = Job("diabetes", 1, "fast", "full", False)


class Shape:
    def __str__(self):
        return "at most 9"


class Pool:
    correction = None
    shapes = (Shape(), None)


class Fake:
    """Predicts the training responses, and counts its fits."""

    fits = 0

    def __init__(self, job, seed, threads, time_limit):
        self.arguments = (job, seed, threads, time_limit)
        self.weights_, self.first_stage_errors_, self.cut_short_, self.pool_ = {"a": 1.0}, {"ridge": 0.5}, False, Pool()
        self.leaderboard_ = [
            {"model": "a", "outcome": "in the pool", "crps": 1.0},
            {"model": "b", "outcome": "dropped after round 1", "crps": 3.0},
        ]

    def fit(self, X, y):
        type(self).fits += 1
        self.y = y
        return self

    def sample(self, X, n_samples, seed):
        return np.random.default_rng(seed).choice(self.y, size=(n_samples, len(X)))

    def explain(self):
        return "One. Two."


@pytest.fixture(autouse=True)
def no_fits(monkeypatch):
    monkeypatch.setattr(Fake, "fits", 0)


def table(n=60, seed=0):
    rng = np.random.default_rng(seed)
    return Table(rng.normal(size=(n, 2)), rng.normal(size=n), ("a", "b"), "y")


def namespace(tmp_path: Path, **options) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return argparse.Namespace(**{**vars(parser.parse_args([])), "results_dir": tmp_path, **options})


def test_a_line_records_scores_and_settings():
    data = table()
    line = line_of(JOB, data, threads=1, time_limit=7.0, n_samples=20, make=Fake)
    part = split(60, 1)
    samples = np.random.default_rng(seeds(1).sampler).choice(data.y[part.train], size=(20, len(part.test)))
    first = scores(samples, data.y[part.test], data.y[part.train])
    changed = {name for name, value in first.items() if line["metrics"][name] != value}
    assert changed == {"crps", "crpss"}
    drawn = [
        np.random.default_rng(seeds(1).sampler + NEXT_DRAW * k).choice(data.y[part.train], size=(20, len(part.test)))
        for k in range(MOST_DRAWS)
    ]
    mean = np.mean([crps(draw, data.y[part.test]).mean() for draw in drawn])
    assert line["metrics"]["crps"] == pytest.approx(mean)
    assert line["metrics"]["crpss"] == pytest.approx(1.0 - mean / first["crps_climatology"])
    assert line["n_draws"] == MOST_DRAWS
    assert (line["n_train"], line["n_test"], line["n_samples"]) == (50, 10, 20)
    assert (line["threads"], line["time_limit"], line["cut_short"], line["tried"]) == (1, 7.0, False, 2)
    assert line["leaderboard"] == [{"model": "a", "outcome": "in the pool", "crps": 1.0}]
    assert line["confined_to"] == ["at most 9", None]
    assert line["recalibrated"] is False
    assert {*KEY, "fit_seconds", "fit_cpu_seconds", "commit", "source_hash", "versions"} <= set(line)
    json.dumps(line)


def test_small_test_parts_have_several_draws():
    assert [n_draws(n) for n in (51, 74, 172, 1083, 3440, 7622)] == [20, 20, 20, 4, 1, 1]


def test_the_time_limit_of_the_preset_is_recorded():
    assert line_of(JOB, table(), threads=1, n_samples=5, make=Fake)["time_limit"] == PRESETS["fast"].time_limit


def test_samples_that_are_not_finite_give_no_line():
    class Broken(Fake):
        def sample(self, X, n_samples, seed):
            return np.full((n_samples, len(X)), np.nan)

    with pytest.raises(ValueError, match="diabetes fold 1, fast: samples of shape"):
        line_of(JOB, table(), threads=1, make=Broken)


def test_the_real_estimator_makes_a_line():
    line = line_of(
        JOB, table(120), threads=1, n_samples=20, make=lambda job, seed, threads, limit: auto(TINY, seed=seed)
    )
    assert sum(line["weights"].values()) == pytest.approx(1.0)
    assert set(line["stages"]) == {"lightgbm", "ridge", "stack"}
    assert all(entry["outcome"] in ("in the pool", "final model without weight") for entry in line["leaderboard"])
    assert "not trained on" in line["explain"]
    json.dumps(line)


def test_existing_lines_are_kept(tmp_path):
    options = {"threads": 1, "n_samples": 5, "make": Fake}
    state, first = measured(JOB, table(), tmp_path, **options)
    assert (state, Fake.fits) == ("measured", 1)
    state, again = measured(JOB, table(), tmp_path, **options)
    assert (state, Fake.fits, again) == ("kept", 1, first)
    assert measured(JOB, table(), tmp_path, force=True, **options)[0] == "measured"
    assert len(list(records.read(tmp_path / "auto.jsonl"))) == 2
    for other in (Job("diabetes", 2, "fast", "full", False), Job("diabetes", 1, "fast", "one_bag", True)):
        assert measured(other, table(), tmp_path, **options)[0] == "measured"
    assert len(records.latest(tmp_path / "auto.jsonl", KEY)) == 3


def test_two_processes_do_not_fit_the_same_job(tmp_path):
    (tmp_path / "studies").mkdir()
    with held(tmp_path / "studies" / "diabetes__1__fast__full__False.lock"):
        assert measured(JOB, table(), tmp_path, threads=1, make=Fake) == ("shared", None)
    assert Fake.fits == 0


def test_the_first_of_equal_rows_is_kept_in_order():
    X = np.array([[2.0, 1.0], [1.0, 1.0], [2.0, 1.0], [0.0, 5.0], [1.0, 1.0]])
    kept = deduplicated(Table(X, np.arange(5.0), ("a", "b"), "y"))
    np.testing.assert_array_equal(kept.X, [[2.0, 1.0], [1.0, 1.0], [0.0, 5.0]])
    np.testing.assert_array_equal(kept.y, [0.0, 1.0, 3.0])


def test_jobs_come_cheapest_first(tmp_path):
    jobs = command.jobs_of(namespace(tmp_path))
    assert len(jobs) == 50
    assert [job.data_set for job in jobs[::5]] == list(DATA_SETS)
    assert {(job.preset, job.variant, job.deduplicated) for job in jobs} == {("best", "full", False)}
    some = command.jobs_of(namespace(tmp_path, data_sets=["wine", "yacht"], folds=[(2, 1), (3,)], preset="fast"))
    assert [(job.data_set, job.fold) for job in some] == [(d, f) for d in ("yacht", "wine") for f in (1, 2, 3)]


def test_jobs_of_ablations_and_of_unrepeated_rows(tmp_path):
    ablation = command.jobs_of(namespace(tmp_path, ablation=["full", "one_bag"]))
    assert {job.data_set for job in ablation} == {"yacht", "energy", "concrete", "wine", "power_plant"}
    assert {job.fold for job in ablation} == {1, 2}
    assert len(ablation) == 5 * 2 * 2
    unrepeated = command.jobs_of(namespace(tmp_path, deduplicated=True))
    assert [job.data_set for job in unrepeated[::5]] == ["concrete", "wine", "protein"]
    assert all(job.deduplicated for job in unrepeated)


def test_variants_remove_one_part_each():
    full = PRESETS["best"]
    made = {name: variant(full) for name, variant in VARIANTS.items()}
    assert made["full"] == made["no_recalibration"] == full
    assert made["one_bag"].bags == made["no_pool"].final_models == 1
    assert made["no_first_stages"].first_stages == (("none", ()), ("lightgbm", ()))
    assert (made["no_selection"].rounds, made["no_selection"].recipes) == ((), ("flow",))
    assert made["no_selection"].bags == full.bags
    assert not made["no_pool"].large_plain
    assert not made["no_selection"].large_plain
    for name in VARIANTS:
        model = make_estimator(Job("yacht", 1, "best", name, False), 3, 1, 9.0)
        assert model.preset == made[name]
        assert model.recalibrate is (name != "no_recalibration")
        assert (model.seed, model.n_jobs, model.time_limit) == (3, 1, 9.0)


@pytest.mark.parametrize("name", [name for name in VARIANTS if name != "full"])
def test_every_variant_can_be_fitted(name):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2))
    model = auto(VARIANTS[name](TINY)).fit(X, X[:, 0] + rng.normal(size=90))
    assert np.isfinite(model.predict(X)).all()
    if name in ("no_pool", "no_selection"):
        assert len(model.weights_) == 1
    if name == "one_bag":
        assert all(len(member.bags) == 1 for member in model.pool_.members)
    if name == "no_first_stages":
        assert not any("stack" in text or "given" in text for text in model.weights_)


def test_the_command_continues_after_an_interruption(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(command, "load_table", lambda name, directory: table())
    options = {"data_sets": ["yacht", "diabetes"], "folds": [(1, 2)], "preset": "fast", "threads": 1}
    command.run(namespace(tmp_path, minutes_total=0.0, **options), make=Fake)
    assert Fake.fits == 0
    assert "4 of 4 fits were not started" in capsys.readouterr().err
    assert not (tmp_path / "auto.md").exists()
    command.run(namespace(tmp_path, **{**options, "data_sets": ["yacht"]}), make=Fake)
    command.run(namespace(tmp_path, **options), make=Fake)
    assert Fake.fits == 4
    out = capsys.readouterr()
    assert out.err.count("kept") == 2
    assert (tmp_path / "auto.md").read_text().count("| yacht |") == 1
    assert r"\begin{tabular}" in (tmp_path / "auto.tex").read_text()


def test_a_fit_that_fails_does_not_end_the_run(tmp_path, monkeypatch):
    class Fragile(Fake):
        def fit(self, X, y):
            if self.arguments[0].fold == 1:
                raise RuntimeError("no luck")
            return super().fit(X, y)

    monkeypatch.setattr(command, "load_table", lambda name, directory: table())
    with pytest.raises(command.ResultsError, match="no line of 1 fits: yacht fold 1, fast: RuntimeError"):
        command.run(namespace(tmp_path, data_sets=["yacht"], folds=[(1, 2)], preset="fast"), make=Fragile)
    assert len(list(records.read(tmp_path / "auto.jsonl"))) == 1


@pytest.mark.parametrize(
    "arguments", [["--folds", "0"], ["--folds", "one"], ["--preset", "slow"], ["--data-sets", "ct_slices"]]
)
def test_wrong_options_are_refused(arguments, capsys):
    with pytest.raises(SystemExit):
        main(["auto", *arguments])
    assert arguments[0] in capsys.readouterr().err


def lines_of(crps, preset="best", variant="full", deduplicated=False, folds=(1, 2), **changes):
    """Lines with the CRPS of each data set, perfectly calibrated unless changed."""
    result = {"coverage_error_50": 0.01, "coverage_error_90": 0.01, "pit_ks_p": 0.5}
    result |= {"coverage_50": 0.51, "coverage_90": 0.89}
    result |= {"iqr_mace_50": 0.03, "iqr_mace_90": 0.02}
    line = {"fit_seconds": 20.0, "fit_cpu_seconds": 15.0, "n_train": 500, "n_test": 100, "threads": 2}
    line |= {"source_hash": "h", "cut_short": False, **{k: v for k, v in changes.items() if k not in result}}
    result |= {k: v for k, v in changes.items() if k in result}
    return [
        {
            **line,
            **dict(zip(KEY, (name, fold, preset, variant, deduplicated), strict=True)),
            "metrics": {**result, "crps": value},
        }
        for name, value in crps.items()
        for fold in folds
    ]


def rivals_of(crps, family="ibug", folds=(1, 2)):
    """Lines of a family on tables without repeated rows."""
    return [
        {"data_set": name, "family": family, "fold": fold, "metrics": {"crps": value}}
        for name, value in crps.items()
        for fold in folds
    ]


RIVALS = Rivals(
    (
        *rivals_of({name: BEST_OF_NINE[name] for name in REPEATED_DATA}),
        *rivals_of({name: FLOW[name] for name in REPEATED_DATA}, "flow_vp"),
    )
)


def targets_of(records, rivals=RIVALS):
    """All targets as the lines have them."""
    return targets(Fits.of(records), rivals)


def scaled(reference, factor, **others):
    return {name: value * others.get(name, factor) for name, value in reference.items()}


GOOD = [
    *lines_of(scaled(BEST_OF_NINE, 0.85)),
    *lines_of(scaled(FLOW, 0.95), "fast"),
    *lines_of({name: 0.99 * BEST_OF_NINE[name] for name in REPEATED_DATA}, deduplicated=True),
    *lines_of({name: 0.99 * FLOW[name] for name in REPEATED_DATA}, "fast", deduplicated=True),
]


def test_errors_of_folds_cancel_in_the_pooled_error():
    records = [
        *lines_of({"yacht": 1.0, "wine": 1.0}, folds=(1,), coverage_50=0.4),
        *lines_of({"yacht": 1.0}, folds=(2,), coverage_50=0.6),
        *lines_of({"wine": 1.0}, folds=(2,), coverage_50=0.2),
    ]
    assert Lines.of(records, "best").pooled_coverage_error(50) == pytest.approx((0.0 + 0.2) / 2.0)
    assert np.isnan(Lines.of([], "best").pooled_coverage_error(50))


def test_all_targets_can_be_met():
    assert [target.state for target in targets_of(GOOD)] == ["met"] * 11
    assert [target.state for target in targets_of(GOOD, NO_RIVALS)] == [*["met"] * 9, *["incomplete"] * 2]


def test_a_note_explains_incomplete_targets():
    def notes(records):
        return " ".join(page(records, RIVALS).tables[-1].notes)

    assert "incomplete" not in notes(GOOD)
    assert "incomplete" in notes(lines_of({"yacht": 0.1}))


@pytest.mark.parametrize(
    ("lines", "broken"),
    [
        (lines_of(scaled(BEST_OF_NINE, 0.8, yacht=1.01, wine=1.01)), []),
        (lines_of(scaled(BEST_OF_NINE, 0.8, yacht=1.01, wine=1.01, energy=1.01)), ["8 of 10"]),
        (lines_of(scaled(BEST_OF_NINE, 0.8, yacht=1.03)), ["1.02 times"]),
        (lines_of(scaled(BEST_OF_NINE, 0.9, naval=1e-3)), ["geometric mean"]),
        (lines_of(scaled(BEST_OF_NINE, 0.85), coverage_error_90=0.021), ["at 90%"]),
        (lines_of(scaled(BEST_OF_NINE, 0.85), coverage_error_50=0.031), ["at 50%"]),
        (lines_of(scaled(BEST_OF_NINE, 0.85), pit_ks_p=0.01), ["PIT-KS"]),
        (lines_of(scaled(BEST_OF_NINE, 0.85), fit_seconds=601.0), ["600 s"]),
        (lines_of(scaled(BEST_OF_NINE, 0.85), fit_seconds=1199.0, threads=1), []),
        (lines_of(scaled(BEST_OF_NINE, 0.85), fit_seconds=1201.0, threads=1), ["600 s"]),
        (lines_of(scaled(FLOW, 0.9, naval=1.0), "fast"), ["flow row"]),
        (lines_of(scaled(FLOW, 0.9), "fast", fit_seconds=31.0), ["30 s"]),
        (lines_of(scaled(FLOW, 0.9), "fast", fit_seconds=31.0, n_train=10_000), []),
        (lines_of({"wine": 0.279}, deduplicated=True), ["best of nine on the same rows"]),
        (lines_of({"wine": 0.318}, "fast", deduplicated=True), ["tuned flow's on the same rows"]),
    ],
)
def test_each_target_can_be_missed(lines, broken):
    replaced = {tuple(line[name] for name in KEY): line for line in [*GOOD, *lines]}
    missed = [target for target in targets_of(replaced.values()) if target.state != "met"]
    assert len(missed) == len(broken)
    for target, part in zip(missed, broken, strict=True):
        assert part in target.text
        assert target.state == "not met"


def test_missing_data_sets_leave_targets_incomplete():
    assert {target.state for target in targets_of(lines_of({"yacht": 0.1, "wine": 0.2}))} == {"incomplete"}
    assert {target.state for target in targets_of([])} == {"incomplete"}
    lost = targets_of(lines_of({name: 1.5 * BEST_OF_NINE[name] for name in ("yacht", "energy", "wine")}))
    assert [target.state for target in lost[:3]] == ["not met", "not met", "incomplete"]  # whatever the others will be


def test_coverage_error_of_exact_distributions_by_hand():
    # of two rows none, one or two are inside: |B/2 - 1/2| is 1/2 with probability 1/2
    assert of_exact_distributions(50)({"n_test": 2, "metrics": {}}) == pytest.approx(0.25)
    # of three rows with p = 0.9: E|B - 2.7| = (0.001 * 2.7 + 0.027 * 1.7 + 0.243 * 0.7 + 0.729 * 0.3)
    assert of_exact_distributions(90)({"n_test": 3, "metrics": {}}) == pytest.approx(0.4374 / 3)
    # a discrete response lets 50% intervals cover 3/4: both of two rows with 9/16, one with 6/16, none with 1/16
    few = {"n_test": 2, "metrics": {"attainable_coverage_50": 0.75, "coverage_50": 0.7}}
    assert of_exact_distributions(50)(few) == pytest.approx(0.5 * 10 / 16)
    # distributions that all concentrate on the observed value say nothing
    few["metrics"]["coverage_50"] = 0.75
    assert of_exact_distributions(50)(few) == pytest.approx(0.25)


def test_discrete_distributions_cover_more_than_their_level():
    training = np.repeat([5.0, 6.0], 50)
    # three quarters of the mass at 6 or near it, for each of two rows; half of it is within 5.99 and 6.01
    samples = np.tile(np.repeat([5.0, 5.99, 6.0, 6.01], 25)[:, None], 2)
    assert attainable_coverage(samples, training) == {"attainable_coverage_50": 0.75, "attainable_coverage_90": 1.0}
    assert attainable_coverage(samples, np.arange(100.0)) == {}


def test_means_and_ratios_by_hand():
    lines = Lines.of([*lines_of({"yacht": 0.2}, folds=(1,)), *lines_of({"yacht": 0.4}, folds=(2,))], "best")
    assert lines.mean("yacht", metric("crps")) == pytest.approx(0.3)
    assert lines.ratios(BEST_OF_NINE) == {"yacht": pytest.approx(0.3 / 0.269)}
    other = Lines.of(lines_of({"yacht": 0.1}, variant="one_bag", folds=(2, 3)), "best", "one_bag")
    assert other.ratios_to(lines) == {"yacht": pytest.approx(0.1 / 0.4)}  # only the second fold is shared
    assert geometric_mean([2.0, 8.0]) == pytest.approx(4.0)
    assert np.isnan(geometric_mean([]))
    assert FLOW["kin8nm"] == 0.055
    assert set(FLOW) == set(BEST_OF_NINE) == set(DATA_SETS)


def test_a_note_gives_the_coverage_of_discrete_responses():
    wine = lines_of({"wine": 0.26})
    for line in wine:
        line["metrics"] |= {
            "coverage_50": 0.68,
            "coverage_90": 0.94,
            "attainable_coverage_50": 0.63,
            "attainable_coverage_90": 0.95,
        }
    naval = lines_of({"naval": 1e-6})
    for line in naval:
        line["metrics"] |= {
            "coverage_50": 0.79,
            "coverage_90": 0.95,
            "attainable_coverage_50": 0.79,
            "attainable_coverage_90": 0.95,
        }
    text = render.markdown(page([*wine, *naval, *lines_of({"yacht": 0.1})]))
    for line in wine:
        line["metrics"] |= {"attainable_coverage_50": 0.51, "attainable_coverage_90": 0.91}
    assert "wine has few values" not in render.markdown(page(wine))  # with jitter they attain nominal coverage
    assert "intervals would cover 0.630 and 0.950; they cover 0.680 and 0.940 (fold 1-2)" in text
    assert "yacht has few values" not in text
    assert "naval has few values" not in text  # the two are the same number


def test_tables_without_repeated_rows_are_compared_with_the_plain_recipe_on_the_same_folds():
    full = [
        *lines_of({"wine": 0.3}, deduplicated=True, folds=(1,)),
        *lines_of({"wine": 0.4}, deduplicated=True, folds=(2,)),
    ]
    plain = lines_of({"wine": 0.5}, variant="no_selection", deduplicated=True, folds=(2, 3))
    others = [*lines_of({"wine": 0.2}), *lines_of({"concrete": 2.0}, deduplicated=True)]
    text = render.markdown(page([*full, *plain, *others]))
    assert "| wine | 1-2 | 600 | 0.350 | 0.200 | 0.278 | 1.259 | — | — | 0.500 | 0.800 |" in text
    assert "| concrete | 1-2 | 600 | 2.00 | — | 2.15 | 0.930 | — | — | — | — |" in text
    assert "--rivals" not in text


def test_tables_without_repeated_rows_are_compared_with_the_best_family_on_the_same_folds():
    rivals = Rivals(
        (
            *rivals_of({"wine": 0.36}),
            *rivals_of({"wine": 0.4}, "card"),
            *rivals_of({"wine": 0.2}, "published", folds=(1, 3)),  # fold 2 is missing
        )
    )
    text = render.markdown(page(lines_of({"wine": 0.45}, deduplicated=True), rivals))
    assert "| wine | 1-2 | 600 | 0.450 | — | 0.278 | 1.619 | 0.360 | 1.250 | — | — |" in text
    assert "CRPS on wine: iBUG 0.36, CARD 0.4." in text
    assert "on the same rows, on 3 of 3 | 0 of 1 | not met |" in text


def test_the_fast_preset_is_compared_with_the_flow_on_the_same_rows():
    fast = [*lines_of({"wine": 0.3}, "fast"), *lines_of({"wine": 0.36, "protein": 1.8}, "fast", deduplicated=True)]
    rivals = Rivals((*rivals_of({"wine": 0.4}, "flow_vp"), *rivals_of({"wine": 0.2}), *rivals_of({"protein": 1.0})))
    text = render.markdown(page(fast, rivals))
    assert "| wine | 1-2 | 0.360 | 0.300 | 0.317 | 0.400 | 0.900 | 0.010 | 0.010 | 1.00 | 20 | 15 |" in text
    assert "| protein | 1-2 | 1.80 | — | 1.77 | — | — | 0.010 | 0.010 | 1.00 | 20 | 15 |" in text
    assert "tuned flow's on the same rows, on 3 of 3 | 1 of 1 | incomplete |" in text


def test_an_ablation_compares_coverage_on_the_same_fits():
    full = [*lines_of({"yacht": 0.2}, folds=(1,), coverage_error_50=0.07), *lines_of({"yacht": 0.2}, folds=(2,))]
    one = lines_of({"yacht": 0.3}, variant="one_bag", folds=(1,), iqr_mace_50=0.09)
    text = render.markdown(page([*full, *one, *lines_of({"wine": 0.3})]))
    assert "| full | 1.000 | 1.000 | 0.070 | 0.010 | 0.030 | 0.020 | 20 |" in text
    assert r"| one\_bag | 1.500 | 1.500 | 0.010 | 0.010 | 0.090 | 0.020 | 20 |" in text


def test_tables_hold_the_numbers():
    made = page(
        [
            *GOOD,
            *lines_of(scaled(BEST_OF_NINE, 0.85 * 1.1), variant="no_pool"),
            *lines_of({"yacht": 0.85 * 0.269 * 1.3}, variant="one_bag", folds=(1,)),
        ],
        RIVALS,
    )
    assert [t.name for t in made.tables] == [
        *("auto_best", "auto_fast", "auto_unrepeated", "auto_fast_unrepeated", "auto_ablation_best", "auto_targets"),
    ]
    text = render.markdown(made)
    assert "Geometric mean of the ratios without naval: 0.850." in text
    assert "| kin8nm | 1-2 | 0.0312 ± 0 | 0.0367 | 0.850 | 0.010 | 0.010 | 1.00 | 20 | 15 |" in text
    assert "| full | 1.000 | 1.000 | 1.000 | 1.000 | 1.000 | 1.000 |" in text
    assert r"| no\_pool | 1.100 | 1.100 | 1.100 | 1.100 | 1.100 | 1.100 |" in text
    assert r"| one\_bag | 1.300 | — | — | — | — | 1.300 |" in text
    assert text.count("| met |") == 11
    assert "2 version(s)" not in text
    assert render.latex(made).count(r"\begin{table*}") == len(made.tables)
