"""The nine families on tables without repeated rows: fits and recorded lines."""

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.__main__ import main
from benchmarks.automatic import command, rivals
from benchmarks.automatic.rivals import Rivals, run_rivals
from benchmarks.families import FAMILIES, HEADLINE
from benchmarks.layout import Layout
from benchmarks.table_files import Table

from benchmarks import configs, records

RNG = np.random.default_rng(0)
FEATURES = RNG.normal(size=(60, 2))
TABLE = Table(np.repeat(FEATURES, 2, axis=0), np.repeat(RNG.normal(size=60), 2), ("a", "b"), "y")
"""Every row occurs twice."""


class Climatology:
    """Predicts the training responses."""

    def __init__(self, params, streams, threads):
        self.rng = np.random.default_rng(params["offset"])

    def fit(self, X, y):
        assert len(np.unique(X, axis=0)) == len(X)
        self.y = y

    def sample(self, X, n_samples):
        return self.rng.choice(self.y, size=(n_samples, len(X)))


class Broken(Climatology):
    def fit(self, X, y):
        raise ValueError("no")


@pytest.fixture
def selected(tmp_path):
    layout = Layout(tmp_path / "protocol").prepare()
    for name in ("published", "ibug"):
        config = configs.Config("wine", name, {"offset": 3}, 1.0, 1, 1, 0, {}, 0.0, {}, "c", "h")
        configs.write(layout.config("wine", name), config)
    return layout.root


def families(**builds):
    return {name: replace(FAMILIES[name], build=builds.get(name, Climatology), packages=()) for name in HEADLINE}


def test_tuned_families_are_fitted_to_single_rows_and_lines_are_kept(selected, tmp_path):
    messages = []
    options = {"threads": 1, "selected": selected}
    assert run_rivals([("wine", TABLE)], (1, 2), tmp_path, messages.append, families=families(), **options) == []
    lines = list(records.read(tmp_path / rivals.NAME))
    assert [(line["family"], line["fold"]) for line in lines] == [
        *(("published", 1), ("ibug", 1), ("published", 2), ("ibug", 2)),
    ]
    assert all(line["n_train"] + line["n_test"] == 60 for line in lines)
    assert len(messages) == 4
    assert run_rivals([("wine", TABLE)], (1, 2), tmp_path, messages.append, families=families(), **options) == []
    assert len(messages) == 4
    run_rivals([("wine", TABLE)], (2,), tmp_path, messages.append, families=families(), force=True, **options)
    assert len(messages) == 6
    made = Rivals.read(tmp_path)
    mean = {
        name: np.mean([line["metrics"]["crps"] for line in lines if line["family"] == name])
        for name in ("published", "ibug")
    }
    assert made.crps("wine", [1, 2]) == pytest.approx(mean)
    assert made.best("wine", [1, 2]) == pytest.approx(min(mean.values()))
    assert made.best("wine", [1, 2, 3]) is None
    assert made.flow("wine", [1, 2]) is None


def test_a_family_that_fails_does_not_stop_the_others(selected, tmp_path):
    failed = run_rivals(
        [("wine", TABLE)],
        (1,),
        tmp_path,
        lambda text: None,
        threads=1,
        selected=selected,
        families=families(published=Broken),
    )
    assert failed == ["wine fold 1, published: ValueError('no')"]
    assert [line["family"] for line in records.read(tmp_path / rivals.NAME)] == ["ibug"]


def test_the_command_asks_for_the_tables_with_repeated_rows(tmp_path, monkeypatch):
    asked = []

    def run(tables, folds, root, say, **options):
        asked.extend([[name for name, _ in tables], folds, root, options["threads"], options["force"]])
        return []

    monkeypatch.setattr(command, "run_rivals", run)
    monkeypatch.setattr(command, "load_table", lambda name, directory: TABLE)
    main(["auto", "--rivals", "--folds", "1,2", "--threads", "1", "--results-dir", str(tmp_path)])
    assert asked == [["concrete", "wine", "protein"], (1, 2), tmp_path, 1, False]
    with pytest.raises(SystemExit):
        main(["auto", "--rivals", "--ablation", "no_pool"])
