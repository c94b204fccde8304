"""A served model under load: 1, 8 and 32 clients on loopback, every answer compared, memory and a clean stop.

``python -m reliability load``. The server is another process, as users start it. Clients are threads of this one, each
with one connection that stays open; they and the server share the machine's cores. Of each model, the answers to all
requests are computed alone beforehand; an answer under load must be the same text. One request in ten is one that the
server must refuse.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from diffgbm import AutoDiffGBM, DiffGBM, load
from diffgbm.serving.problems import RequestError
from diffgbm.serving.service import Service
from reliability.records import record
from reliability.soak import is_flat, memory_of, slope

CLIENTS = (1, 8, 32)
"""Clients at the same time."""
MOST_REQUESTS = 4000
"""Most requests of each number of clients."""
REQUESTS = 200
"""Different requests."""
REFUSED = 10
"""One request in so many is refused."""
EVERY = 0.1
"""Seconds between two looks at the memory of the server."""
START = 300.0
"""Seconds that the server may take to start."""


@dataclass(frozen=True)
class Exchange:
    """A request, and the answer that it must get."""

    body: bytes
    status: int
    answer: bytes


def table(n: int, seed: int) -> tuple[Any, Any]:
    """Return rows with four numbers and a category, and their responses."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.uniform(size=(n, 4)), columns=list("abcd"))
    X["kind"] = rng.choice(["red", "green", "blue"], n)
    scale = 0.1 + X["b"].to_numpy()
    y = np.sin(4.0 * X["a"].to_numpy()) + (X["kind"] == "red") + scale * rng.standard_normal(n)
    return X, pd.Series(np.asarray(y), name="y")


def models(limit: float) -> dict[str, Any]:
    """Return the models that are served: one recipe, and a pool."""
    return {
        "flow": DiffGBM.flow(seed=0, n_jobs=1),
        "automatic, fast": AutoDiffGBM(preset="fast", time_limit=limit, seed=0, n_jobs=1),
    }


def exchanges(path: Path) -> list[Exchange]:
    """Return requests with the answers that the model gives to them alone."""
    X, _ = table(REQUESTS, 1)
    rows = json.loads(X.to_json(orient="records", double_precision=15))
    service = Service(load(path).set_threads(1), path.name)
    return [_exchange(service, k, row) for k, row in enumerate(rows)]


def _exchange(service: Service, k: int, row: dict[str, Any]) -> Exchange:
    row = {**row, "a": "no number"} if k % REFUSED == REFUSED - 1 else row
    asked = {"rows": [row], "mean": True, "interval": [0.5, 0.9], "probability": {"above": 1.0}}
    body = json.dumps(asked).encode()
    try:
        status, facts = 200, service.predict(body, "application/json", [])
    except RequestError as error:
        status, facts = error.status, error.facts()
    return Exchange(body, status, json.dumps(facts, separators=(",", ":")).encode())


@contextmanager
def served(path: Path, workers: int) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start ``diffgbm serve`` as a process; yield it with its address."""
    words = ["serve", str(path), "--port", "0", "--json", "--workers", str(workers)]
    process = subprocess.Popen([sys.executable, "-m", "diffgbm", *words], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        # a server that does not start prints nothing and ends
        killer = threading.Timer(START, process.kill)
        killer.start()
        line = process.stdout.readline()
        killer.cancel()
        if not line:
            raise RuntimeError(f"the server ended with code {process.wait()}")
        yield process, json.loads(line)["url"]
    finally:
        process.kill()
        process.wait()


class Load:
    """Clients that ask at the same time until a number of requests or some seconds are used up."""

    def __init__(self, url: str, asked: Sequence[Exchange], requests: int, seconds: float) -> None:
        self.url, self.asked = urlsplit(url), asked
        self.requests, self.ends = requests, time.monotonic() + seconds
        self.latencies: list[float] = []
        self.wrong = 0
        self._next = count()
        self._lock = threading.Lock()

    def client(self) -> None:
        """Ask one request after the other over one connection."""
        connection = http.client.HTTPConnection(self.url.hostname or "", self.url.port, timeout=120)
        times, wrong = [], 0
        while (k := next(self._next)) < self.requests and time.monotonic() < self.ends:
            exchange = self.asked[k % len(self.asked)]
            started = time.perf_counter()
            try:
                connection.request("POST", "/predict", exchange.body, {"Content-Type": "application/json"})
                answer = connection.getresponse()
                found = (answer.status, answer.read())
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                found = (0, repr(error).encode())
            times.append(time.perf_counter() - started)
            wrong += found != (exchange.status, exchange.answer)
        connection.close()
        with self._lock:
            self.latencies += times
            self.wrong += wrong

    def run(self, clients: int) -> dict[str, Any]:
        """Run some clients and return requests per second and latencies in milliseconds."""
        started = time.perf_counter()
        threads = [threading.Thread(target=self.client) for _ in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        seconds = time.perf_counter() - started
        p50, p99 = 1000.0 * np.quantile(self.latencies, [0.5, 0.99])
        return {
            "clients": clients,
            "requests": len(self.latencies),
            "per_second": round(len(self.latencies) / seconds, 1),
            "p50_ms": round(float(p50), 1),
            "p99_ms": round(float(p99), 1),
            "wrong": self.wrong,
        }


class Memory:
    """Looks at the memory of a process until it is closed."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.seen: list[float] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()

    def _look(self) -> None:
        while not self._over.wait(EVERY):
            self.seen.append(memory_of(self.pid))

    def close(self) -> dict[str, Any]:
        """Return the megabytes of the middle and the end, and whether they are flat in the second half."""
        self._over.set()
        self._thread.join()
        # the allocator's arenas fill in the first half
        kept = np.array(self.seen[len(self.seen) // 2 :])
        b, error = slope(kept) if len(kept) >= 24 else (0.0, 0.0)
        flat = is_flat(b, error, len(kept), float(kept.mean()))
        return {"middle": round(float(kept[0]), 1), "last": round(float(kept[-1]), 1), "flat": flat}


def loaded(path: Path, seconds: float, requests: int = MOST_REQUESTS, workers: int = 2) -> dict[str, Any]:
    """Serve a model file, load it with each number of clients, stop the server, and return the figures."""
    asked = exchanges(path)
    with served(path, workers) as (process, url):
        levels = [Load(url, asked, requests, seconds).run(clients) for clients in CLIENTS[:-1]]
        memory = Memory(process.pid)
        levels.append(Load(url, asked, requests, seconds).run(CLIENTS[-1]))
        facts = memory.close()
        process.send_signal(signal.SIGTERM)
        code = process.wait(60)
    return {"workers": workers, "levels": levels, "memory": facts, "exit_code": code}


def run(minutes: float, name: str | None = "load", requests: int = MOST_REQUESTS) -> dict[str, Any]:
    """Load each model for a share of some minutes; return and record the figures."""
    started, busy = time.monotonic(), os.getloadavg()[0]
    X, y = table(2000, 0)
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for k, (kind, model) in enumerate(models(min(30.0, 6.0 * minutes)).items()):
            path = Path(folder) / f"{k}.dgbm"
            model.fit(X, y).save(path)
            found[kind] = loaded(path, 60.0 * minutes / (2 * len(CLIENTS)), requests)
    wrong = sum(level["wrong"] for one in found.values() for level in one["levels"])
    figures = {
        "minutes": round((time.monotonic() - started) / 60.0, 1),
        "cores": os.cpu_count(),
        "load_average": round(busy, 1),
        "models": found,
        "findings": wrong + sum(one["exit_code"] != 0 for one in found.values()),
        "flat": all(one["memory"]["flat"] for one in found.values()),
    }
    if name:
        record(name, figures)
    return figures
