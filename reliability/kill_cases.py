"""Cases to kill: saving a model, files of the command line, a search, a run of the benchmarks."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from diffgbm import DiffGBM, load
from diffgbm.tuning.journals import open_journal
from diffgbm.tuning.studies import open_study
from reliability.kills import Case, forked

ROOT = Path(__file__).parent.parent
SETTINGS = ("n_estimators=10", "n_repeats=2", "early_stopping_rounds=null", "num_leaves=5", "residualize=off")
OPTIONS = [word for option in SETTINGS for word in ("--set", option)]
COMMON = ["--target", "y", "--jobs", "1", "--seed", "0"]


def cases(scratch: Path) -> list[Case]:
    """Prepare what the cases need, and return them."""
    for module in ("optuna", "typer", "diffgbm.cli.commands", "pyarrow.csv", "pyarrow.parquet", "benchmarks.__main__"):
        import_module(module)  # once, not in every fork
    os.environ.update(DIFFGBM_OFFLINE="1", DIFFGBM_CACHE=str(scratch / "cache"), OMP_NUM_THREADS="1")
    X, y = _rows()
    old, new = (DiffGBM.flow(n_estimators=n, n_repeats=2, n_jobs=1, seed=0).fit(X, y) for n in (5, 9))
    model, table = scratch / "model.dgbm", scratch / "rows.csv"
    new.sample(X, 2, seed=0)  # kernels are compiled here, not in every fork
    np.savetxt(table, np.column_stack([X, y]), delimiter=",", header="a,b,c,y", comments="")
    # in another process: one that has used arrow's threads cannot be forked
    os.waitpid(forked(lambda: _command("fit", table, "--recipe", "flow", *COMMON, *OPTIONS, "-q", "-o", model)), 0)
    return [
        Case("save", lambda folder: new.save(folder / "m.dgbm"), _bytes("m.dgbm")),
        Case("save_over", lambda folder: new.save(folder / "m.dgbm"), _new(new), lambda f: old.save(f / "m.dgbm")),
        Case(
            "cli_predict",
            lambda folder: _command("predict", model, table, "--jobs", 1, "-o", folder / "p.csv"),
            _bytes("p.csv"),
        ),
        Case(
            "cli_sample",
            lambda folder: _command("sample", model, table, "-n", 3, "--jobs", 1, "-o", folder / "s.parquet"),
            _bytes("s.parquet"),
        ),
        Case("tune", lambda folder: _tune(table, folder), _search),
        Case("benchmarks", _benchmarks, _scores),
    ]


def _rows() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(120, 3))
    return X, X[:, 0] + (0.1 + X[:, 1]) * rng.standard_normal(120)


def _command(*words: object) -> None:
    from diffgbm.cli.entry import main

    try:
        main([str(word) for word in words])
    except SystemExit as end:
        if end.code:
            raise AssertionError(f"diffgbm {words[0]} ended with {end.code}") from None


def _bytes(*names: str) -> Any:
    """Files under their final names; unfinished ones have temporary names that begin with a dot."""

    def finished(folder: Path) -> dict[str, Any]:
        return {name: (folder / name).read_bytes() for name in names if (folder / name).exists()}

    return finished


def _new(model: DiffGBM) -> Any:
    """A new model that replaces an old one: the old one must exist until then."""
    X, _ = _rows()

    def finished(folder: Path) -> dict[str, Any]:
        result = load(folder / "m.dgbm")
        return {"new": result.sample(X[:5], 2, seed=0).tolist()} if result.n_estimators == model.n_estimators else {}

    return finished


def _tune(table: Path, folder: Path) -> None:
    words = ["--trials", "3", "--folds", "2", "--space", "flow", "-q", "--storage", folder / "s.db"]
    _command("tune", table, *COMMON, *OPTIONS, *words, "-o", folder / "best.dgbm")


def _search(folder: Path) -> dict[str, Any]:
    """Scores of the trials by index, and the model."""
    result = _bytes("best.dgbm")(folder)
    if (folder / "s.db").exists():
        import optuna

        with open_study(folder / "s.db", "diffgbm-flow") as study:
            for trial in study.optuna.get_trials():
                if trial.state == optuna.trial.TrialState.COMPLETE:
                    result[f"trial {trial.user_attrs['place']}"] = (trial.value, trial.params)
    return result


def _benchmarks(folder: Path) -> None:
    from benchmarks.__main__ import main
    from benchmarks.selection import SYNTHETIC

    sys.path.insert(0, str(ROOT))  # the folder of the fake families, which take no time
    words = ["run", "--data-sets", SYNTHETIC, "--families", "point", "noise", "--trials", "3", "--folds", "1", "2"]
    fixed = [
        "--registry",
        "tests.benchmarks.fake_families:ALL",
        "--results-dir",
        str(folder),
        "--jobs",
        "1",
        "--threads",
        "1",
    ]
    if main([*words, *fixed]):
        raise AssertionError("the benchmarks failed")


def _scores(folder: Path) -> dict[str, Any]:
    """Scores of the folds, and of the trials by index."""
    from benchmarks.evaluation import KEY
    from benchmarks.layout import Layout
    from benchmarks.selection import SYNTHETIC

    from benchmarks import records

    layout = Layout(folder)
    result = {f"fold {key}": line["metrics"] for key, line in records.latest(layout.evaluation, KEY).items()}
    for family in ("point", "noise"):
        if layout.journal(SYNTHETIC, family).exists():
            with open_journal(layout.journal(SYNTHETIC, family)) as study:
                for trial in study.optuna.get_trials():
                    if trial.state.name == "COMPLETE" and "abandoned" not in trial.user_attrs:
                        result[f"{family} {trial.user_attrs['place']}"] = (trial.value, trial.params)
    return result
