"""The Dask client in use: found, refused or missing, and the workers of its cluster."""

import pytest

from diffgbm._util.dask_client import the_client, workers_of
from diffgbm._util.errors import ClusterError

distributed = pytest.importorskip("distributed")


class Client:
    """The part of a client that ``workers_of`` uses."""

    def __init__(self, *addresses: str) -> None:
        self._threads = {address: k + 1 for k, address in enumerate(addresses)}

    def nthreads(self) -> dict[str, int]:
        return self._threads


def test_without_a_client_the_message_says_how_to_make_one():
    with pytest.raises(ClusterError, match=r"There is no Dask client: make one first .*client="):
        the_client()


def test_what_is_no_client_is_refused():
    with pytest.raises(TypeError, match=r"client must be a dask\.distributed\.Client that is not asynchronous; got 3"):
        the_client(3)


def test_the_current_client_is_used_and_a_closed_one_refused():
    options = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster:
        with distributed.Client(cluster) as client:
            assert the_client() is client
            assert the_client(client) is client
            assert list(workers_of(client).values()) == [1]
        with pytest.raises(ClusterError, match="not connected: its status is 'closed'"):
            the_client(client)


def test_workers_are_sorted_and_chosen_by_address():
    client = Client("tcp://b", "tcp://a", "tcp://c")
    assert list(workers_of(client).items()) == [("tcp://a", 2), ("tcp://b", 1), ("tcp://c", 3)]
    assert workers_of(client, ["tcp://c", "tcp://a"]) == {"tcp://a": 2, "tcp://c": 3}
    with pytest.raises(ClusterError, match="no worker 'tcp://x'; it has tcp://a, tcp://b, tcp://c"):
        workers_of(client, ["tcp://x"])
    with pytest.raises(ClusterError, match="has no workers"):
        workers_of(Client())


def test_workers_that_share_a_process_count_once():
    assert workers_of(Client("inproc://1", "inproc://2", "tcp://a")) == {"inproc://1": 1, "tcp://a": 3}
