"""Prepared forests: made once, within a bound, gone with their forest, safe under threads, forks and pickles."""

import gc
import multiprocessing
import pickle
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from diffgbm.engine import Draws, make_engine, prepared
from diffgbm.engine.prepared import Ledger, Prepared, array_bytes, limit_from_environment

from . import models


@pytest.fixture
def ledger(monkeypatch):
    """A ledger of 1,000 bytes in the place of the process's own."""
    small = Ledger(1000)
    monkeypatch.setattr(prepared, "ledger", small)
    return small


def values(size):
    """Return an array of ``size`` bytes."""
    return np.zeros(size, dtype=np.uint8)


def test_a_value_is_made_once(ledger):
    owner = Prepared()
    first = owner.get(b"a", lambda: values(10))
    assert owner.get(b"a", lambda: pytest.fail("made twice")) is first
    assert owner.made == 1
    assert ledger.size == 10


def test_the_least_recently_used_goes_first(ledger):
    one, other = Prepared(), Prepared()
    one.get(b"a", lambda: values(400))
    other.get(b"a", lambda: values(400))
    one.get(b"a", lambda: values(400))  # used again
    other.get(b"b", lambda: values(500))
    assert list(one.entries) == [b"a"]
    assert list(other.entries) == [b"b"]
    assert ledger.size == 900


def test_what_is_larger_than_the_bound_is_not_kept(ledger):
    owner = Prepared()
    owner.get(b"small", lambda: values(100))
    assert len(owner.get(b"large", lambda: values(1001))) == 1001
    assert list(owner.entries) == [b"small"]
    assert ledger.size == 100


def test_a_thousand_samplers_do_not_grow_beyond_the_bound(ledger):
    owner = Prepared()
    for i in range(1000):
        owner.get(str(i).encode(), lambda: values(90))
        assert ledger.size <= 1000
    assert len(owner.entries) == 11


def test_entries_go_with_their_owner(ledger):
    owner = Prepared()
    owner.get(b"a", lambda: values(300))
    del owner
    gc.collect()
    assert ledger.size == 0


def test_pickles_and_copies_are_empty(ledger):
    owner = Prepared()
    owner.get(b"a", lambda: values(300))
    twin = pickle.loads(pickle.dumps(owner))
    assert twin.entries == {}
    assert twin.number != owner.number


def test_many_threads_make_a_value_once(ledger):
    owner, barrier = Prepared(), threading.Barrier(8)

    def ask(_):
        barrier.wait()
        return owner.get(b"a", lambda: values(10))

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(ask, range(8)))
    assert owner.made == 1
    assert all(each is found[0] for each in found)


def _child(owner, queue):
    queue.put(len(owner.get(b"new", lambda: values(7))))


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_does_not_wait_for_threads_that_it_does_not_have(ledger):
    owner, context = Prepared(), multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=_child, args=(owner, queue))
    with ledger.lock, owner.making:  # as another thread would hold them
        process.start()
    assert queue.get(timeout=30) == 7
    process.join()


def test_bytes_of_fields_items_and_elements():
    integrator = make_engine([models.group(1, 1, 1)], "collapse").prepare(models.step_table(1))
    field = integrator.fields[0]
    least = field.pruned.nodes.nbytes + field.leaves.nbytes + field.lookup.first.nbytes + field.pruned.edges[0].nbytes
    assert array_bytes(integrator) > least


@pytest.mark.parametrize("d", [1, 2])
def test_an_engine_keeps_its_integrator_for_equal_steps(d):
    bags = [models.group(d, 1, seed) for seed in (1, 10)]
    engine, X, draws = make_engine(bags, "collapse", "mixture"), models.rows(9, 3), Draws(10, 4)
    first = engine.prepare(models.step_table(1))(X, draws)
    again = engine.prepare(models.step_table(1))
    assert engine.prepared.made == 1
    np.testing.assert_array_equal(again(X, draws), first)
    assert not np.array_equal(engine.prepare(models.step_table(1, corrector=0.5))(X, draws), first)
    assert engine.prepared.made == 2
    fresh = make_engine(bags, "collapse", "mixture").prepare(models.step_table(1))
    np.testing.assert_array_equal(fresh(X, draws), first)


def test_pickled_engines_hold_no_integrators():
    engine = make_engine([models.group(1, 1, 1)], "collapse")
    before = len(pickle.dumps(engine))
    engine.prepare(models.step_table(1))
    assert len(pickle.dumps(engine)) == before


def test_the_bound_is_read_from_the_environment(monkeypatch):
    monkeypatch.setenv(prepared.LIMIT_NAME, "3")
    assert limit_from_environment() == 3 << 20
    monkeypatch.setenv(prepared.LIMIT_NAME, "much")
    with pytest.raises(ValueError, match="DIFFGBM_PREPARED_MB must be a whole number of megabytes"):
        limit_from_environment()
    monkeypatch.delenv(prepared.LIMIT_NAME)
    assert limit_from_environment() == prepared.DEFAULT_LIMIT << 20
