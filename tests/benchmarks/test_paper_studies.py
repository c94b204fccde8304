"""Studies of the paper: the schema rejects unknown entries, runs continue, tables show the paper's numbers."""

from __future__ import annotations

import argparse
import copy
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from benchmarks.__main__ import main
from benchmarks.paper_studies import command, study_tables, work
from benchmarks.paper_studies.documents import write_document, write_study
from benchmarks.paper_studies.fits import SURFACE, Bench, measure_arms, params_of, plan_of, sampler_of, surface_of
from benchmarks.paper_studies.measures import MEASURES
from benchmarks.paper_studies.pages import claims_table, counts, finished, page_of
from benchmarks.paper_studies.reader import StudyError
from benchmarks.paper_studies.schema import ORDER, STUDIES, load_studies, read_study, study_names, study_of
from benchmarks.paper_studies.study_tables import ct_substitute, table_of
from benchmarks.paper_studies.work import Settings, perform, tasks_of
from benchmarks.protocol import prepare
from benchmarks.table_files import Table
from benchmarks.tables.render import markdown
from scipy.spatial.distance import cdist

from benchmarks import records
from diffgbm import DiffGBM

SMALL = {"n_estimators": 5, "n_repeats": 2, "residualize": "off", "early_stopping_rounds": None}

CONTENT: dict[str, Any] = {
    "name": "tiny",
    "title": "A tiny study",
    "paper": {"where": "Table 0", "label": "tab:zero", "setting": "nothing"},
    "setup": "Two samplers of one flow.",
    "data_sets": ["skewed"],
    "folds": [1, 2],
    "rows": 60,
    "n_samples": 20,
    "models": {"flow": {"recipe": "flow", "params": SMALL}},
    "arms": [
        {"name": "ode", "label": "ODE", "model": "flow", "paper": {"crps": 0.125, "crpss": 0.5}},
        {"name": "sde", "label": "SDE", "model": "flow", "sampler": {"n_steps": 3, "velocity_stochasticity": 1.0}},
    ],
    "columns": [{"measure": "crps"}, {"measure": "crpss", "digits": 2}],
    "paired": [{"left": "ode", "right": "sde", "measure": "crps", "test": "t", "paper": {"difference": -0.25}}],
    "claims": [
        {
            "claim": "The ODE has the lower CRPS",
            "paper": "0.125",
            "rules": [{"rule": "less", "left": "ode", "right": "sde", "measure": "crps"}],
        }
    ],
}


def tiny(**changes: Any):
    return study_of({**copy.deepcopy(CONTENT), **changes}, "tiny.yaml", "tiny")


def written(tmp_path: Path, **changes: Any) -> Path:
    directory = tmp_path / "studies"
    directory.mkdir(exist_ok=True)
    (directory / "tiny.yaml").write_text(yaml.safe_dump({**CONTENT, **changes}), encoding="utf-8")
    return directory


def changed(path: str, value: Any) -> dict[str, Any]:
    """Return the content with one entry changed; ``value`` of ... removes it."""
    content = copy.deepcopy(CONTENT)
    place: Any = content
    *steps, last = [int(part) if part.isdigit() else part for part in path.split("/")]
    for step in steps:
        place = place[step]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return content


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("titel", "x", r"tiny.yaml: the key 'titel' is not known; accepted: name, title, .* Did you mean 'title'\?"),
        ("title", ..., "tiny.yaml: the key 'title' is missing"),
        ("claims", ..., "the key 'claims' is missing"),
        ("title", 3, "tiny.yaml.title: expected text; got 3"),
        ("rows", "many", "tiny.yaml.rows: expected a whole number; got 'many'"),
        ("rows", True, "tiny.yaml.rows: expected a whole number; got True"),
        ("folds", 1, r"tiny.yaml.folds: expected a list; got 1"),
        ("folds", [0], r"tiny.yaml.folds: folds are 1 to 5 \(0 is for tuning\); got 0"),
        ("data_sets", ["boston"], r"tiny.yaml.data_sets: the data set 'boston' is not known; accepted: yacht"),
        ("data_sets", [], "data_sets: name at least one"),
        ("kind", "other", r"tiny.yaml.kind: the value 'other' is not known; accepted: models, toy_geometry"),
        ("models/flow/recipe", "flows", r"tiny.yaml.models.flow.recipe: .* accepted: published, score_plus, flow"),
        ("models/flow/recipe", ..., "tiny.yaml.models.flow: give either recipe or family"),
        ("models/flow/tuned", "flow", r"tiny.yaml.models.flow: the family 'flow' is not known"),
        ("models/flow/steps", 3, r"tiny.yaml.models.flow: the key 'steps' is not known"),
        ("models", [], r"tiny.yaml.models: expected a mapping"),
        ("arms/0/model", "score", r"tiny.yaml.arms\[0\].model: the model 'score' is not known; accepted: flow"),
        ("arms/1/name", "ode", "two arms have one name"),
        ("arms/0/paper", {"crp": 1.0}, r"tiny.yaml.arms\[0\].paper: the measure 'crp' is not known.*mean 'crps'\?"),
        ("arms/0/paper", {"crps": "low"}, r"tiny.yaml.arms\[0\].paper.crps: expected a number; got 'low'"),
        ("columns/0/measure", "skill", r"tiny.yaml.columns\[0\]: the measure 'skill' is not known"),
        ("paired/0/right", "sd", r"tiny.yaml.paired\[0\]: the arm 'sd' is not known; accepted: ode, sde"),
        ("paired/0/test", "z", r"tiny.yaml.paired\[0\].test: .* accepted: wilcoxon, t, sign, exact"),
        ("claims/0/rules", [], r"tiny.yaml.claims\[0\]: expected the keys claim, paper and rules"),
        ("claims/0/rules/0/rule", "smaller", r"tiny.yaml.claims\[0\].rules\[0\]: the rule 'smaller' is not known"),
        ("claims/0/rules/0/left", "odes", r"claims\[0\].rules\[0\]: the arm 'odes' is not known"),
        ("claims/0/rules/0/measure", "x", r"claims\[0\].rules\[0\]: the measure 'x' is not known"),
        ("claims/0/rules/0/level", 0.1, r"claims\[0\].rules\[0\]: the key 'level' is not known; accepted: rule, left"),
        ("name", "small", "the study is named 'small', its file 'tiny'"),
    ],
)
def test_an_error_names_its_location_and_the_accepted_values(path, value, message):
    with pytest.raises(StudyError, match=message):
        study_of(changed(path, value), "tiny.yaml", "tiny")


def test_files_without_a_mapping_or_without_yaml_are_refused(tmp_path):
    with pytest.raises(StudyError, match="expected a mapping"):
        study_of([], "tiny.yaml", "tiny")
    (tmp_path / "bad.yaml").write_text("a: [1,", encoding="utf-8")
    with pytest.raises(StudyError, match=r"bad.yaml: is not YAML"):
        read_study(tmp_path / "bad.yaml")


def test_all_sixteen_studies_are_there_and_valid():
    assert study_names() == list(ORDER)
    studies = load_studies()
    assert len(studies) == 16
    for study in studies:
        assert study.claims, study.name
        if study.kind == "models":
            assert len(study.data_sets) >= 5 or study.data_sets == ("ct_slices",)
            assert len(study.folds) >= 3


@pytest.mark.parametrize("name", [name for name in ORDER if read_study(STUDIES / f"{name}.yaml").kind == "models"])
def test_the_arms_of_every_study_are_accepted(name):
    """Every model resolves to a recipe, and every sampler to a step table of it."""
    study = read_study(STUDIES / f"{name}.yaml")
    for chosen in (study, study.quickly()):
        for arm in chosen.arms:
            model = chosen.models[arm.model]
            if model.recipe is None:
                continue
            params = params_of(chosen, model, None)
            sampler = sampler_of(arm, params)
            estimator = DiffGBM(**{**params, "pf_ode": None, **sampler})
            recipe = estimator.recipe
            assert np.all(np.isfinite(recipe.steps(recipe.sampler).gain[:-1])), arm.name
            assert recipe.sampler.n_steps == sampler["n_steps"]


def test_parameters_are_layered(tmp_path):
    study = tiny(base={"n_repeats": 7, "num_leaves": 9}, fixed={"max_bin": 99})
    model = study.models["flow"]
    params = params_of(study, model, {"num_leaves": 40, "max_bin": 1000, "learning_rate": 0.3})
    assert (params["n_repeats"], params["num_leaves"], params["max_bin"], params["learning_rate"]) == (2, 40, 99, 0.3)
    assert params["flow_path"] == "vp"
    assert surface_of("skewed", "flow_vp", tmp_path) is None
    tuned = surface_of("yacht", "flow_vp")
    assert tuned is not None
    assert set(tuned) <= set(SURFACE)


def test_a_stochastic_arm_replaces_the_equation_of_the_recipe():
    study = tiny(models={"flow": {"recipe": "score_plus"}})
    params = params_of(study, study.models["flow"], None)
    assert sampler_of(study.arms[0], params) == {"sampler_method": "heun", "n_steps": 25, "pf_ode": True}
    assert "pf_ode" not in sampler_of(study.arms[1], params)


def test_arms_that_differ_in_the_sampler_share_a_fit(monkeypatch):
    fits = []
    fit = DiffGBM.fit
    monkeypatch.setattr(DiffGBM, "fit", lambda self, *args: fits.append(self) or fit(self, *args))
    both = {
        "flow": {"recipe": "flow", "params": SMALL},
        "same": {"recipe": "flow", "params": {**SMALL, "max_bin": 255}},
    }
    study = tiny(models=both, arms=[*CONTENT["arms"], {"name": "again", "label": "again", "model": "same"}])
    bench = Bench.at(prepare(table_of("skewed", 60, None).table, 1), 1)
    cells = measure_arms(study, plan_of(study, "skewed"), bench)
    assert len(fits) == 1
    assert set(cells) == {"ode", "sde", "again"}
    assert cells["ode"]["crps"] == cells["again"]["crps"] != cells["sde"]["crps"]
    assert cells["ode"]["rounds"] == 5
    assert all(MEASURES[name].of(cells["ode"]) >= 0.0 for name in ("crps", "q_mace", "ks_pass", "top_iqr_coverage_90"))


def test_a_unit_is_scored_in_original_units():
    study = tiny()
    table = table_of("skewed", 60, None).table
    cells = []
    for scale in (1.0, 100.0):
        scaled = Table(table.X, scale * table.y, table.features, table.target)
        bench = Bench.at(prepare(scaled, 1), 1)
        cells.append(measure_arms(study, plan_of(study, "skewed"), bench)["ode"])
    assert cells[1]["crps"] == pytest.approx(100.0 * cells[0]["crps"], rel=1e-5)
    assert cells[1]["crpss"] == pytest.approx(cells[0]["crpss"], rel=1e-5)


def test_an_interrupted_run_continues(tmp_path, monkeypatch):
    study, settings = tiny(), Settings(results_dir=tmp_path, download=False)
    first, second = tasks_of([study])
    assert [report.state for report in perform(settings, first)] == ["measured"]
    path = tmp_path / "tiny.jsonl"
    # the process died while the second line was written
    with path.open("a", encoding="utf-8") as file:
        file.write('{"study": "tiny", "data_set": "skewed", "fo')
    measured = []
    measure = work.measure_arms
    monkeypatch.setattr(work, "measure_arms", lambda *a: measured.append(a) or measure(*a))
    states = [report.state for task in tasks_of([study]) for report in perform(settings, task)]
    assert states == ["kept", "measured"]
    assert len(measured) == 1
    assert set(records.latest(path, work.KEY)) == {("skewed", 1), ("skewed", 2)}
    line = records.latest(path, work.KEY)["skewed", 1]
    assert {"digest", "commit", "source_hash", "n_train", "n_test", "note", "time"} <= set(line)
    # another setting measures again, and so does force
    more = tiny(n_samples=21)
    assert [report.state for report in perform(settings, tasks_of([more])[0])] == ["measured"]
    forced = Settings(results_dir=tmp_path, download=False, force=True)
    assert [report.state for report in perform(forced, first)] == ["measured"]
    over = Settings(results_dir=tmp_path / "late", download=False, deadline=0.0)
    assert [report.state for report in perform(over, second)] == ["over"]


def test_a_unit_that_fails_does_not_stop_the_others(tmp_path):
    bad = study_of(
        {**copy.deepcopy(CONTENT), "models": {"flow": {"recipe": "flow", "params": {**SMALL, "num_leaves": 1}}}},
        "tiny.yaml",
        "tiny",
    )
    good = tiny()
    (task,) = [task for task in tasks_of([bad, good]) if task.fold == 1]
    reports = perform(Settings(results_dir=tmp_path, download=False), task)
    assert [report.state for report in reports] == ["failed", "measured"]
    assert "num_leaves" in reports[0].text


def test_a_data_set_that_is_not_available_is_reported(tmp_path):
    study = tiny(data_sets=["yacht"])
    settings = Settings(results_dir=tmp_path, data_dir=tmp_path / "nothing", download=False)
    (report,) = perform(settings, tasks_of([study])[0])
    assert report.state in ("absent", "measured")  # measured where an earlier download is in the cache
    if report.state == "absent":
        assert "no file of the data set 'yacht'" in report.text


def lines(tmp_path: Path, study: Any, ode: list[float], sde: list[float]) -> None:
    for fold, (a, b) in enumerate(zip(ode, sde, strict=True), start=1):
        cells = {"ode": {"crps": a, "crpss": 1.0 - a}, "sde": {"crps": b, "crpss": 1.0 - b}}
        records.append(
            tmp_path / "tiny.jsonl",
            {"study": "tiny", "data_set": "skewed", "fold": fold, "arms": cells, "n_samples": 20, "note": "made up"},
        )


def test_tables_print_the_papers_value_beside_ours(tmp_path):
    study = tiny(folds=[1, 2, 3, 4, 5])
    lines(tmp_path, study, [0.1, 0.2, 0.3, 0.2, 0.2], [0.3, 0.5, 0.45, 0.35, 0.4])
    paths = write_study(study, tmp_path, with_figures=False)
    text, tex = (path.read_text(encoding="utf-8") for path in paths)
    assert "| ODE | **0.2000** (0.1250) | **0.80** (0.50) |" in text
    assert "| SDE | 0.4000 | 0.60 |" in text
    assert "-0.200 (-0.250) | 5 of 5 | t |" in text
    assert "| The ODE has the lower CRPS | 0.125 |" in text
    assert "| HOLDS |" in text
    assert "skewed: made up." in text
    assert r"\textbf{0.2000} (0.1250)" in tex
    assert r"p{0.3\textwidth}" in tex


def test_a_result_from_a_substitute_table_is_marked(tmp_path):
    study = tiny(folds=[1, 2])
    lines(tmp_path, study, [0.1, 0.2], [0.3, 0.5])
    assert claims_table(finished(study, tmp_path)).rows[0][-1] == "WITHIN NOISE"
    line = {**records.latest(tmp_path / "tiny.jsonl", work.KEY)["skewed", 1], "note": "SUBSTITUTE TABLE: no file"}
    records.append(tmp_path / "tiny.jsonl", line)
    assert claims_table(finished(study, tmp_path)).rows[0][-1] == "WITHIN NOISE (substitute table)"


def test_a_study_without_lines_has_a_page(tmp_path):
    done = finished(tiny(), tmp_path)
    assert "NOT MEASURED" in markdown(page_of(done))
    assert claims_table(done).rows[0][-1] == "NOT MEASURED"


def test_a_study_goes_from_file_to_page(tmp_path, capsys):
    directory = written(tmp_path)
    options = ["--studies-dir", str(directory), "--results-dir", str(tmp_path / "out"), "--no-figures"]
    assert main(["study", "tiny", *options, "--folds", "1", "2"]) == 0
    output = capsys.readouterr()
    assert "The ODE has the lower CRPS" in output.out
    assert output.err.count("measured") == 2
    assert main(["study", "all", *options]) == 0
    assert "measured" not in capsys.readouterr().err
    assert main(["study", "--pages", *options, "--docs-dir", str(tmp_path / "docs")]) == 0
    page = (tmp_path / "docs" / "paper.md").read_text(encoding="utf-8")
    assert "(study-tiny)=" in page
    assert "by computation: 1 claims," in page
    assert "[tiny](#study-tiny)" in page
    assert "(0.1250)" in page


def test_unknown_names_are_reported(tmp_path, capsys):
    directory = written(tmp_path)
    assert main(["study", "tinny", "--studies-dir", str(directory)]) == 1
    assert "the study 'tinny' is not known; accepted: tiny, all. Did you mean 'tiny'?" in capsys.readouterr().err
    assert main(["study", "tiny", "--studies-dir", str(directory), "--data-sets", "mars"]) == 1
    assert "the data set 'mars' is not known" in capsys.readouterr().err
    assert main(["study", "--studies-dir", str(directory)]) == 1
    assert "accepted: all, tiny" in capsys.readouterr().err


def options(**changes: Any) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return argparse.Namespace(**{**vars(parser.parse_args([])), **changes})


def test_options_change_every_study_but_not_the_data_of_ct_slices():
    chosen = command.chosen(options(names=["all"], data_sets=["yacht"], folds=[2]))
    assert {study.data_sets for study in chosen if study.kind == "models"} == {("yacht",), ("ct_slices",)}
    assert {study.folds for study in chosen} == {(2,)}
    quick = command.chosen(options(names=["all"], quick=True))
    assert {study.data_sets for study in quick if study.kind == "models"} == {("diabetes",), ("ct_slices",)}
    assert all(study.rows <= 200 for study in quick if study.kind == "models")


def test_tasks_share_a_fold_between_studies():
    tasks = tasks_of(load_studies())
    assert [task.studies[0].kind for task in tasks[:2]] == ["toy_geometry", "toy_geometry"]
    (shared,) = [task for task in tasks if task.data_set == "yacht" and task.fold == 1]
    assert len(shared.studies) == 10
    units = [(study.name, task.data_set, task.fold) for task in tasks for study in task.studies]
    assert len(set(units)) == len(units)


def test_rows_are_a_fixed_part_of_a_table():
    whole, part = (table_of("diabetes", rows, None) for rows in (None, 100))
    assert (len(whole.table.y), whole.note) == (442, "")
    assert (len(part.table.y), part.note) == (100, "100 of 442 rows")
    assert set(map(tuple, part.table.X)) <= set(map(tuple, whole.table.X))
    again = study_tables.table_of.__wrapped__("diabetes", 100, None)
    np.testing.assert_array_equal(part.table.y, again.table.y)


def test_the_substitute_for_ct_slices_is_marked_and_nearly_deterministic(tmp_path, monkeypatch):
    monkeypatch.setattr(study_tables, "find", lambda *args: None)
    monkeypatch.setenv("DIFFGBM_CACHE", str(tmp_path))
    loaded = study_tables.table_of.__wrapped__("ct_slices", 400, tmp_path, False)
    assert loaded.table.X.shape == (400, 384)
    assert "SUBSTITUTE TABLE: the full file is not available" in loaded.note
    assert str(tmp_path) not in loaded.note
    table = ct_substitute(600, np.random.default_rng(1))
    assert 0.1 < np.mean(table.X == 0.0) < 0.5
    # the nearest other slice gives the height to a few per cent of its standard deviation
    distance = cdist(table.X, table.X)
    np.fill_diagonal(distance, np.inf)
    error = np.abs(table.y - table.y[np.argmin(distance, axis=1)])
    assert np.median(error) < 0.05 * np.std(table.y)


def test_the_document_lists_every_claim_of_the_committed_studies(tmp_path):
    studies = load_studies()
    path = write_document(studies, tmp_path, tmp_path / "docs")
    text = path.read_text(encoding="utf-8")
    assert text.count("](#study-") == sum(len(study.claims) for study in studies)
    assert all(f"(study-{study.name.replace('_', '-')})=" in text for study in studies)


def test_claims_on_a_substitute_table_are_counted_apart():
    every = [finished(study, work.RESULTS) for study in load_studies()]
    substitute = {done.study.name for done in every if done.substitute}
    assert substitute == {done.study.name for done in every if done.study.data_sets == ("ct_slices",)}
    for apart in (False, True):
        claims = sum(len(done.study.claims) for done in every if (done.study.name in substitute) == apart)
        assert sum(counts(every, substitute=apart).values()) == claims > 0


def test_committed_lines_are_of_the_studies():
    for study in load_studies():
        for record in records.read(work.lines_path(work.RESULTS, study.name)):
            assert record["study"] == study.name
            assert set(record["arms"]) <= set(study.arm_names)
            assert not math.isnan(sum(cell.get("crps", 0.0) for cell in record["arms"].values()))
            json.dumps(record)
