"""A cluster of two processes on loopback, shared by the tests that need one; workers may die and come back."""

import logging

import pytest

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="session")
def cluster():
    quiet = logging.ERROR + 5
    made = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", host="127.0.0.1", silence_logs=quiet
    )
    yield made
    made.close(timeout=30)


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as made:
        try:
            made.wait_for_workers(2, timeout=60)
        except TimeoutError:  # a nanny that did not bring its worker back
            made.restart(timeout=240)
        yield made
