"""What overlapping blocks change together is undone by the last of them."""

import threading
from contextlib import contextmanager

import pytest

from diffgbm._util.shared_change import SharedChange


@pytest.fixture
def setting():
    return {"value": "as before", "changes": 0}


@pytest.fixture
def change(setting):
    @contextmanager
    def one():
        before, setting["value"] = setting["value"], "changed"
        setting["changes"] += 1
        yield
        setting["value"] = before

    return SharedChange(one)


@pytest.mark.parametrize("first_out", [0, 1])
def test_the_last_block_undoes_the_change(first_out, change, setting):
    blocks = [change(), change()]
    for block in blocks:
        block.__enter__()
    assert setting == {"value": "changed", "changes": 1}
    blocks[first_out].__exit__(None, None, None)
    assert setting["value"] == "changed"
    blocks[1 - first_out].__exit__(None, None, None)
    assert setting["value"] == "as before"


def test_it_can_be_made_again(change, setting):
    for k in range(3):
        with change():
            assert setting == {"value": "changed", "changes": k + 1}
        assert setting["value"] == "as before"


def test_an_error_undoes_it(change, setting):
    with pytest.raises(RuntimeError, match="in the block"), change():
        raise RuntimeError("in the block")
    assert setting["value"] == "as before"


def test_many_threads(change, setting):
    seen = set()

    def work():
        for _ in range(200):
            with change():
                seen.add(setting["value"])

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {"changed"}
    assert setting["value"] == "as before"
