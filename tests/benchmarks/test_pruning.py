"""Pruning: trials end early only with the option, count in the budget, and are never selected."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.configs import Budget
from benchmarks.layout import Layout
from benchmarks.protocol import prepare
from benchmarks.pruning import FRACTIONS, STARTUP_TRIALS, Pruned, score_in_stages
from benchmarks.selection import SYNTHETIC, load_table
from benchmarks.tuning import tune

from diffgbm.tuning.journals import open_journal
from diffgbm.tuning.studies import Budget as StudyBudget
from diffgbm.tuning.studies import StudyStatus
from tests.benchmarks import fake_families as fake


def run(tmp_path: Path, prune: bool, trials: int = 20):
    layout = Layout(tmp_path / f"prune_{prune}").prepare()
    outcome = tune(fake.FAMILIES["point"], load_table(SYNTHETIC, None), SYNTHETIC, layout, Budget(trials, None, prune))
    with open_journal(layout.journal(SYNTHETIC, "point")) as study:
        return outcome, study.optuna.get_trials()


def test_without_the_option_no_trial_reports_or_ends_early(tmp_path):
    outcome, trials = run(tmp_path, False)
    assert outcome.config.n_trials_pruned == 0
    assert not any(trial.intermediate_values for trial in trials)


def test_pruned_trials_count_and_the_best_complete_one_is_selected(tmp_path):
    outcome, trials = run(tmp_path, True)
    config = outcome.config
    states = [trial.state.name for trial in trials]
    assert config.n_trials_finite + config.n_trials_pruned == 20
    assert config.n_trials_pruned == states.count("PRUNED") > 0
    assert "pruned" in outcome.text
    first = [trial for trial in trials if trial.state.name in ("COMPLETE", "PRUNED")][:STARTUP_TRIALS]
    assert all(trial.state.name == "COMPLETE" for trial in first)
    complete = [trial.value for trial in trials if trial.state.name == "COMPLETE"]
    assert config.validation_crps == min(complete)
    assert config.budget == {"trials": 20, "minutes": None, "prune": True}


def test_each_part_of_the_rows_holds_the_one_before():
    fold = prepare(load_table(SYNTHETIC, None), 0)
    seen, reports = [], []

    class Trial:
        def report(self, value: float, step: int) -> None:
            reports.append(step)

        def should_prune(self) -> bool:
            return False

    def score(part) -> float:
        seen.append({tuple(row) for row in part.X_train})
        assert len(part.X_test) == len(fold.X_test)
        return 1.0

    assert score_in_stages(Trial(), fold, score) == 1.0
    assert [len(rows) for rows in seen[:-1]] == reports
    assert len(seen) == len(FRACTIONS) + 1
    assert seen[0] < seen[1] < seen[2]


def test_the_pruner_ends_a_trial_before_it_gets_all_rows():
    fold = prepare(load_table(SYNTHETIC, None), 0)

    class Trial:
        def report(self, value: float, step: int) -> None:
            assert step < len(fold.y_train)

        def should_prune(self) -> bool:
            return True

    with pytest.raises(Pruned):
        score_in_stages(Trial(), fold, lambda part: 1.0)


def test_pruned_trials_take_room_of_the_budget():
    status = StudyStatus(finite=3, pruned=2)
    assert status.next_index == 5
    assert status.is_spent(StudyBudget(5))
    assert not status.is_spent(StudyBudget(6))
