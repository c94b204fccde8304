"""``python -m reliability load``: wrong answers are counted, and right ones are not."""

import json

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

import threading
from functools import partial
from itertools import pairwise

from reliability import load

from diffgbm.serving import server
from diffgbm.serving.service import Service
from tests.conftest import tiny


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("load") / "m.dgbm"
    tiny().fit(*load.table(200, 0)).save(path)
    return path


@pytest.fixture
def url(file, monkeypatch):
    """The address of a server in a thread."""
    import uvicorn

    made, kind = [], uvicorn.Server
    monkeypatch.setattr(uvicorn, "Server", lambda config: made.append(kind(config)) or made[0])
    listening = server.listen(server.Address(port=0))
    thread = threading.Thread(target=partial(server.run, Service(load.load(file)), listening, 2))
    thread.start()
    yield server.url_of(listening)
    made[0].should_exit = True
    thread.join(30)


def test_one_request_in_ten_is_refused(file):
    asked = load.exchanges(file)
    assert [exchange.status for exchange in asked] == ([200] * 9 + [422]) * (load.REQUESTS // 10)
    assert json.loads(asked[0].answer)["predictions"][0]["mean"]
    assert len({exchange.answer for exchange in asked}) > 100


def test_right_answers_are_right_and_others_are_counted(file, url):
    asked = load.exchanges(file)[:20]
    figures = load.Load(url, asked, 60, 60.0).run(4)
    assert (figures["requests"], figures["wrong"], figures["clients"]) == (60, 0, 4)
    assert 0.0 < figures["p50_ms"] <= figures["p99_ms"]
    swapped = [load.Exchange(one.body, one.status, other.answer) for one, other in pairwise(asked)]
    assert load.Load(url, swapped, 19, 60.0).run(2)["wrong"] == 19


def test_time_bounds_the_load(file, url):
    assert load.Load(url, load.exchanges(file), 10**9, 0.3).run(2)["requests"] < 10**5


def test_memory_that_grows_is_not_flat(monkeypatch):
    sizes = iter(range(10**6))
    monkeypatch.setattr(load, "EVERY", 0.0)
    monkeypatch.setattr(load, "memory_of", lambda pid: 100.0 + next(sizes) / 10)
    memory = load.Memory(0)
    while len(memory.seen) < 300:
        pass
    assert memory.close()["flat"] is False
