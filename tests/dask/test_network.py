"""LightGBM's network: one for each process."""

import pytest

pytest.importorskip("distributed")

from diffgbm.dask import network
from diffgbm.dask.network import Link, free_port, is_at_work, linked


def test_a_process_is_in_one_network_at_a_time():
    with linked(None) as alone:
        assert alone == {}
        assert not is_at_work()
    with pytest.raises(RuntimeError, match="another fit is training on this worker"):
        _enter_twice()
    assert not is_at_work()


def _enter_twice():
    with network._AT_WORK, linked(Link(("127.0.0.1:1", "127.0.0.1:2"), 1)):
        raise AssertionError("two networks in one process")


def test_a_free_port_can_be_listened_on():
    assert 1024 <= free_port() < 65536
