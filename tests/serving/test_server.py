import json
import os
import signal
import socket
import threading
import urllib.request

import pytest

from diffgbm.serving import server
from diffgbm.serving.server import Address
from tests.serving.models import ROW

pytest.importorskip("uvicorn")


def test_loopback_is_the_default_and_knows_its_names():
    assert Address().is_loopback
    assert "localhost" in Address().hosts
    assert Address("0.0.0.0").hosts is None
    assert not Address("0.0.0.0").is_loopback
    assert "models.example" in Address(allowed=("Models.example",)).hosts
    assert Address("0.0.0.0", allowed=("a.example",)).hosts[-1] == "a.example"


def test_a_port_that_is_taken_is_refused_with_a_remedy():
    first = server.listen(Address(port=0))
    try:
        with pytest.raises(OSError, match=r"cannot listen on 127.0.0.1 port \d+.*--port"):
            server.listen(Address(port=first.getsockname()[1]))
    finally:
        first.close()
    with pytest.raises(OSError, match="cannot listen on no"):
        server.listen(Address("no.such.host.invalid"))


def test_answers_are_sent_at_once():
    """Otherwise each answer waits some 40 ms for an acknowledgement of its headers."""
    with server.listen(Address(port=0)) as listening, socket.create_connection(listening.getsockname()):
        connection, _ = listening.accept()
        assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        assert connection.proto == socket.IPPROTO_TCP
        connection.close()


def test_addresses_for_a_browser():
    listening = server.listen(Address(port=0))
    assert server.url_of(listening) == f"http://127.0.0.1:{listening.getsockname()[1]}"
    listening.close()
    if socket.has_ipv6:
        try:
            listening = server.listen(Address("::1", 0))
        except OSError:
            return
        assert server.url_of(listening).startswith("http://[::1]:")
        listening.close()


def post(url, value):
    request = urllib.request.Request(url, json.dumps(value).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_requests_are_answered_until_a_signal_stops_the_server(service, number):
    listening = server.listen(Address(port=0))
    url = server.url_of(listening)
    found = []

    def ask():
        found.append(post(f"{url}/predict", {"rows": [ROW], "mean": True}))
        os.kill(os.getpid(), number)

    before = signal.getsignal(number)
    thread = threading.Thread(target=ask)
    thread.start()
    server.run(service, listening, 2, Address().hosts)  # returns: neither exit code nor KeyboardInterrupt
    thread.join()
    assert found == [service.predict(json.dumps([ROW]).encode(), "application/json", [("mean", "1")])]
    assert signal.getsignal(number) is before
    with pytest.raises(OSError, match="refused"):
        post(f"{url}/predict", [ROW])


def test_there_is_a_worker_for_each_core():
    assert 1 <= server.default_workers() <= (os.cpu_count() or 1)
