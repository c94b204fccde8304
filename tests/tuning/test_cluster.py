"""Trials on a cluster: as many at a time as workers, recorded in the order in which they began."""

from __future__ import annotations

from concurrent.futures import Future

import numpy as np
import pytest

from diffgbm._util.progress import SilentBar
from diffgbm.tuning import cluster
from diffgbm.tuning.studies import INDEX, Budget, StudyStatus, open_study
from tests.tuning.test_objective import objective


class Client:
    """A cluster in this process that counts the trials it runs at a time."""

    def __init__(self, n_workers: int = 3, failing: frozenset[int] = frozenset()) -> None:
        self.n_workers, self.failing = n_workers, failing
        self.running = self.most = self.submitted = 0

    def nthreads(self) -> dict[str, int]:
        return {f"tcp://{k}": 1 for k in range(self.n_workers)}

    def scatter(self, value, broadcast, hash):
        return value

    def submit(self, function, shared, params, pure):
        self.running += 1
        self.most = max(self.most, self.running)
        future = Answer(self)
        if self.submitted in self.failing:
            future.set_exception(MemoryError("too large"))
        else:
            future.set_result((shared.scores(params), 0.25))
        self.submitted += 1
        return future


class Answer(Future):
    def __init__(self, client: Client) -> None:
        super().__init__()
        self.client = client

    def result(self, timeout=None):
        self.client.running -= 1
        return super().result(timeout)


@pytest.fixture(autouse=True)
def local(monkeypatch):
    monkeypatch.setattr(cluster, "the_client", lambda client: client)


def test_as_many_trials_at_a_time_as_workers():
    client = Client()
    with open_study(None, None) as study:
        cluster.search_on(client, study, objective(), Budget(7), SilentBar())
        assert study.status() == StudyStatus(7, 0, 0, 7 * 0.25)
        assert [trial.user_attrs[INDEX] for trial in study.optuna.trials] == list(range(7))
    assert client.most == 3


def test_the_same_number_of_workers_gives_the_same_trials():
    values = []
    for n_workers in (3, 3, 1):
        with open_study(None, None) as study:
            cluster.search_on(Client(n_workers), study, objective(), Budget(14), SilentBar())
            values.append([trial.params["value"] for trial in study.optuna.trials])
    assert values[0] == values[1]
    np.testing.assert_array_equal(values[0][:10], values[2][:10])  # random until TPE has ten trials to learn from


def test_failures_count_and_do_not_stop_the_search():
    with open_study(None, None) as study:
        cluster.search_on(Client(failing=frozenset({1, 4})), study, objective(), Budget(5), SilentBar())
        assert (study.status().finite, study.status().failed) == (5, 2)
        assert study.last_error() == "MemoryError: too large"


def test_choices_that_fail_are_failed_trials():
    def broken(trial):
        raise RuntimeError("no choice")

    with open_study(None, None) as study:
        cluster.search_on(Client(), study, objective(space=broken), Budget(2), SilentBar())
        assert study.status().failed == 4
        assert study.last_error() == "RuntimeError: no choice"


def test_an_interruption_abandons_the_running_trials(monkeypatch):
    def interrupt(*words):
        raise KeyboardInterrupt

    monkeypatch.setattr(cluster, "_record", interrupt)
    with open_study(None, None) as study:
        with pytest.raises(KeyboardInterrupt):
            cluster.search_on(Client(), study, objective(), Budget(5), SilentBar())
        assert study.status() == StudyStatus()
        assert len(study.optuna.trials) == 3
