"""Worker groups: which worker gets which partition, and what happens when one dies or is busy."""

import os
import signal
import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("distributed")

from diffgbm._util.dask_client import workers_of
from diffgbm.dask import ClusterError, DaskDiffGBM, network
from diffgbm.dask import worker_group as worker_groups
from diffgbm.dask.network import is_at_work
from diffgbm.dask.worker_group import LEAST_ROWS, WorkerGroup, assign
from tests.conftest import toy
from tests.dask.tables import SMALL, cut


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=20), st.integers(1, 8))
def test_workers_get_consecutive_partitions_and_enough_rows(rows, n_workers):
    workers = np.array(assign(rows, n_workers))
    assert len(workers) == len(rows)
    assert workers[0] == 0
    assert (np.isin(np.diff(workers), (0, 1))).all()
    assert workers[-1] < n_workers
    held = np.bincount(workers, weights=rows)
    assert len(held) == 1 or held.min() >= LEAST_ROWS


def test_equal_partitions_are_shared_equally():
    assert assign([500] * 6, 3) == [0, 0, 1, 1, 2, 2]
    assert assign([500] * 5, 8) == [0, 1, 2, 3, 4]


def kill_one(client, ready):
    """Kill a worker's process as soon as ``ready()`` is true."""
    victims = client.run(os.getpid)
    deadline = time.monotonic() + 300.0
    while not ready():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.kill(victims[max(victims)], signal.SIGKILL)
    return max(victims)


def test_a_worker_that_dies_in_training_ends_the_fit_with_an_error_and_the_next_fit_succeeds(client):
    X, y = cut(*toy(600), (300, 300))
    killed = []

    def kill():
        killed.append(kill_one(client, lambda: all(client.run(is_at_work).values())))

    thread = threading.Thread(target=kill)
    thread.start()
    endless = {**SMALL, "n_estimators": 10_000_000, "residualize": "off"}
    with pytest.raises(ClusterError, match="left the cluster during the fit") as caught:
        DaskDiffGBM.flow(**endless).fit(X, y, client=client)
    thread.join()
    assert killed[0] in str(caught.value)
    client.wait_for_workers(1, timeout=300)
    assert not any(client.run(is_at_work, on_error="ignore").values())
    DaskDiffGBM.flow(**SMALL).fit(X, y, client=client)


def enter():
    """Behave as if a fit were training in this process; return whether none was."""
    return network._AT_WORK.acquire(blocking=False)


def leave():
    network._AT_WORK.release()


def test_two_fits_do_not_train_on_the_same_worker(client):
    busy = max(client.nthreads())
    assert client.run(enter, workers=[busy]) == {busy: True}
    try:
        with pytest.raises(ClusterError, match=f"Another fit is training on {busy}"):
            DaskDiffGBM.flow(**SMALL).fit(*cut(*toy(300), (150, 150)), client=client)
    finally:
        client.run(leave, workers=[busy])


def wait_inside():
    """Stay in the network as LightGBM does when a peer is gone: no signal of Python ends it."""
    with network._AT_WORK:
        time.sleep(600.0)


def test_a_worker_that_is_stuck_inside_lightgbm_is_restarted(client, monkeypatch):
    monkeypatch.setattr(worker_groups, "GRACE", 2.0)
    worker_group = WorkerGroup.of(client, [200, 200], workers_of(client))
    futures = [worker_group.at(address, wait_inside) for address in worker_group.workers]
    killed = kill_one(client, lambda: all(client.run(is_at_work).values()))
    (stuck,) = set(worker_group.workers) - {killed}
    with pytest.raises(ClusterError, match=f"Worker {killed} left the cluster"):
        worker_group.wait(futures)
    # its process was ended; when its nanny restarts it is up to Dask
    assert stuck in worker_group.lost()
    assert not any(client.run(is_at_work, on_error="ignore").values())
