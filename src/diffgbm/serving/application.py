"""The web application: routes, a bounded pool of threads for predictions, and headers that keep a browser strict."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from diffgbm._util.optional import need
from diffgbm.serving.limits import Limits
from diffgbm.serving.openapi import document
from diffgbm.serving.problems import RequestError
from diffgbm.serving.service import Service

Handler = Callable[[Any], Awaitable[Any]]

LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""Names of this machine, by which a browser of this machine asks."""
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
"""Headers of every answer: nothing is loaded from elsewhere, no inline script runs, no page embeds this one."""


class Workers:
    """A pool of threads for predictions, which the event loop does not wait for; too many requests are refused.

    Parameters
    ----------
    count : int
        Predictions at the same time.
    waiting : int
        Requests that may wait besides.
    """

    def __init__(self, count: int, waiting: int) -> None:
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="predict")
        self._most = count + waiting
        self._under_way = 0

    async def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function in a thread; raise a ``RequestError`` if too many others wait."""
        if self._under_way >= self._most:
            raise RequestError(503, f"{self._most} requests are under way already. Try again in a second.")
        self._under_way += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, function, *arguments)
        finally:
            self._under_way -= 1

    def close(self) -> None:
        """Wait for predictions under way; those that have not begun are dropped."""
        self._pool.shutdown(wait=True, cancel_futures=True)


def application(
    service: Service, workers: Workers, hosts: Sequence[str] | None = None, more_routes: Sequence[Any] = ()
) -> Any:
    """Return the application of a service.

    Parameters
    ----------
    service : Service
        What answers.
    workers : Workers
        Where predictions run.
    hosts : sequence of str, optional
        Names in the header Host that are answered; ``None`` answers all. On loopback this keeps out web pages whose
        name was pointed at this machine.
    more_routes : sequence
        Further routes; one of them may be ``/``.
    """
    routing, applications = need("starlette.routing"), need("starlette.applications")
    schema = document(service)

    async def predict(request: Any) -> Any:
        body = await read_body(request, service.limits)
        content_type = request.headers.get("content-type", "")
        query = list(request.query_params.multi_items())
        return await answered(workers, service.predict, body, content_type, query)

    async def describe(request: Any) -> Any:
        return respond(schema)

    async def health(request: Any) -> Any:
        return respond(service.health())

    async def index(request: Any) -> Any:
        return respond({**service.health(), "predict": "POST /predict", "schema": "/schema", "health": "/health"})

    routes = [
        routing.Route("/predict", safely(predict), methods=["POST"]),
        routing.Route("/schema", safely(describe)),
        routing.Route("/health", safely(health)),
        *more_routes,
        routing.Route("/", safely(index)),
    ]
    exceptions = need("starlette.exceptions").HTTPException
    app = applications.Starlette(routes=routes, exception_handlers={exceptions: _not_found, Exception: _failed})
    known = None if hosts is None else frozenset(hosts)

    async def guarded(scope: Any, receive: Any, send: Any) -> None:
        await _guarded(app, known, scope, receive, send)

    return guarded


def respond(facts: Any, status: int = 200) -> Any:
    """Return an answer in JSON, in which every number is finite."""
    headers = {"retry-after": "1"} if status == 503 else None
    return need("starlette.responses").Response(_written(facts), status, headers, "application/json")


def _written(facts: Any) -> bytes:
    return json.dumps(facts, allow_nan=False, separators=(",", ":")).encode()


async def answered(workers: Workers, function: Callable[..., Any], *arguments: Any) -> Any:
    """Answer with what a function returns; it is also written in a thread, as a million numbers take a second."""

    def work() -> bytes:
        return _written(function(*arguments))

    return need("starlette.responses").Response(await workers.run(work), media_type="application/json")


def safely(handler: Handler) -> Handler:
    """Turn a ``RequestError`` of a handler into its answer."""

    async def handle(request: Any) -> Any:
        try:
            return await handler(request)
        except RequestError as error:
            return respond(error.facts(), error.status)

    return handle


async def read_body(request: Any, limits: Limits) -> bytes:
    """Read the body of a request within the limits of its size and time."""
    if request.headers.get("content-encoding", "identity") != "identity":
        raise RequestError(415, "The body is compressed: send it as it is, without Content-Encoding.")
    declared = request.headers.get("content-length", "")
    limits.check_body(int(declared) if declared.isdigit() and len(declared) < 20 else 0)

    async def read() -> bytes:
        parts, size = [], 0
        async for part in request.stream():
            parts.append(part)
            size += len(part)
            limits.check_body(size)
        return b"".join(parts)

    try:
        return await asyncio.wait_for(read(), limits.seconds)
    except asyncio.TimeoutError:
        raise RequestError(408, f"The body took longer than {limits.seconds:g} seconds.") from None
    except need("starlette.requests").ClientDisconnect:
        raise RequestError(400, "The client left.") from None


async def _not_found(request: Any, error: Any) -> Any:
    paths = "POST /predict, GET /schema, GET /health"
    reason = {404: f"There is no {request.url.path[:100]!r} here", 405: f"{request.method} is not allowed here"}
    message = f"{reason.get(error.status_code, error.detail)}. Ask {paths}."
    return respond(RequestError(error.status_code, message).facts(), error.status_code)


async def _failed(request: Any, error: Exception) -> Any:
    return respond(RequestError(500, "The server failed; its log says why.").facts(), 500)


async def _guarded(app: Any, hosts: frozenset[str] | None, scope: Any, receive: Any, send: Any) -> None:
    """Add the headers to each answer, and answer only requests to known names of this server."""
    if scope["type"] != "http":
        await app(scope, receive, send)
        return

    async def send_with_headers(message: Any) -> None:
        if message["type"] == "http.response.start":
            extra = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
            message = {**message, "headers": [*message["headers"], *extra]}
        await send(message)

    asked = host_name(dict(scope["headers"]).get(b"host", b"").decode("latin-1"))
    if hosts is not None and asked not in hosts:
        refusal = f"This server does not answer for the host {asked[:100]!r}. Start it with --allow-host {asked[:100]}."
        app = respond(RequestError(400, refusal).facts(), 400)
    await app(scope, receive, send_with_headers)


def host_name(header: str) -> str:
    """Return the name in a header Host, without port and brackets."""
    header = header.strip().lower()
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return header.partition(":")[0]
