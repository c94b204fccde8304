import asyncio
import json
import threading
from types import MappingProxyType

import pytest

from diffgbm.serving.application import LOOPBACK, Workers, application, host_name
from diffgbm.serving.limits import Limits
from diffgbm.serving.problems import RequestError
from diffgbm.serving.service import Service
from tests.serving.client import Client, httpx
from tests.serving.models import ROW

pytest.importorskip("starlette")


def client_of(service, hosts=LOOPBACK, workers=2):
    return Client(application(service, Workers(workers, service.limits.waiting), hosts))


@pytest.fixture(scope="module")
def client(service):
    return client_of(service)


def test_rows_are_predicted(client, service):
    asked = {"rows": [ROW], "mean": True, "interval": 0.9}
    answer = client.post("/predict", json=asked)
    assert answer.status_code == 200
    assert answer.json() == service.predict(json.dumps(asked).encode(), "application/json", [])


def test_the_service_describes_itself(client, service):
    assert client.get("/health").json() == service.health()
    assert client.get("/schema").json()["paths"]["/predict"]
    assert client.get("/").json()["predict"] == "POST /predict"


def test_every_answer_keeps_a_browser_strict(client):
    for answer in (client.get("/health"), client.get("/nothing"), client.post("/predict", content=b"")):
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["content-type"] == "application/json"
        assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize(
    ("request_of", "status"),
    [
        (lambda c: c.get("/nothing"), 404),
        (lambda c: c.get("/" + "é☃" * 50), 404),
        (lambda c: c.get("/predict"), 405),
        (lambda c: c.request("DELETE", "/health"), 405),
        (lambda c: c.post("/predict"), 415),
        (lambda c: c.post("/predict", json={"rows": [{}]}), 422),
        (lambda c: c.post("/predict?abov=3", json=[ROW]), 422),
        (lambda c: c.post("/predict", content=b"[" * 99_999, headers={"content-type": "application/json"}), 400),
        (lambda c: c.post("/predict", json=[ROW], headers={"content-encoding": "gzip"}), 415),
        (lambda c: c.get("/health", headers={"host": "evil.example"}), 400),
        (lambda c: c.get("/health", headers={"host": ""}), 400),
    ],
)
def test_wrong_requests_get_their_status_and_a_message(client, request_of, status):
    answer = request_of(client)
    assert answer.status_code == status
    assert answer.json()["error"]


def test_bodies_are_bounded_with_and_without_a_length(model):
    client = client_of(Service(model, limits=Limits(body=1000)))
    headers = {"content-type": "application/json"}

    async def parts():
        yield b"x" * 600
        yield b"x" * 600

    for content in (b"x" * 1001, parts()):
        answer = client.post("/predict", content=content, headers=headers)
        assert answer.status_code == 413
        assert "1,000 bytes" in answer.json()["error"]


def test_every_name_is_answered_if_none_is_asked_for(service):
    assert client_of(service, hosts=None).get("/health", headers={"host": "anything"}).status_code == 200


@pytest.mark.parametrize(
    ("header", "name"),
    [("LocalHost:80", "localhost"), ("[::1]:8000", "::1"), ("127.0.0.1", "127.0.0.1"), ("", "")],
)
def test_names_of_hosts(header, name):
    assert host_name(header) == name


def test_a_failure_of_the_server_says_nothing_of_its_inside(service, monkeypatch):
    def fail(*arguments):
        raise RuntimeError("secret")

    monkeypatch.setattr(Service, "predict", fail)
    answer = client_of(service).post("/predict", json=[ROW])
    assert answer.status_code == 500
    assert "secret" not in answer.text


def test_many_requests_at_once_give_the_answers_of_one_at_a_time(service):
    rows = [{**ROW, "size": 30.0 + 5 * i, "town": ["Zug", "Bern", None][i % 3]} for i in range(24)]
    asked = [{"rows": [row], "mean": True, "interval": [0.5, 0.9], "samples": 3, "seed": 1} for row in rows]
    client = client_of(service, workers=6)
    alone = [client.post("/predict", json=one).json() for one in asked]
    found = [None] * len(asked)

    def send(first):
        for i in range(first, len(asked), 8):
            found[i] = client.post("/predict", json=asked[i]).json()

    threads = [threading.Thread(target=send, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == alone
    assert len({str(answer) for answer in alone}) > 20


def test_requests_beyond_the_queue_are_refused():
    workers, gate = Workers(1, 1), threading.Event()

    async def ask():
        waiting = [asyncio.ensure_future(workers.run(gate.wait)) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(RequestError) as caught:
            await workers.run(gate.wait)
        gate.set()
        await asyncio.gather(*waiting)
        assert await workers.run(lambda: 3) == 3
        return caught.value.status

    assert asyncio.run(ask()) == 503
    workers.close()


def test_the_event_loop_does_not_wait_for_a_prediction(service, monkeypatch):
    gate = threading.Event()

    def slow(self, *arguments):
        assert gate.wait(30)
        return {"thread": threading.current_thread().name}

    monkeypatch.setattr(Service, "predict", slow)
    app = client_of(service, workers=1).app

    async def ask():
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            waiting = asyncio.ensure_future(client.post("/predict", json=[ROW]))
            health = await client.get("/health")  # would not return if the loop waited
            gate.set()
            return health.status_code, (await waiting).json()

    status, answer = asyncio.run(ask())
    assert status == 200
    assert answer["thread"].startswith("predict")


def test_a_body_that_does_not_come_is_given_up(model):
    from diffgbm.serving.application import read_body

    class Slow:
        headers = MappingProxyType({})

        async def stream(self):
            yield b"a"
            await asyncio.sleep(60)

    with pytest.raises(RequestError) as caught:
        asyncio.run(read_body(Slow(), Limits(seconds=0.01)))
    assert caught.value.status == 408
