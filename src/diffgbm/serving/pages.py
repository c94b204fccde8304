"""Routes of the explorer: its page, style and scripts, which are files of the package, and what the page asks for."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from typing import Any

from diffgbm._util.optional import need
from diffgbm.serving.application import Workers, answered, read_body, safely
from diffgbm.serving.explorer import Explorer
from diffgbm.serving.service import check_type, parse_json

FILES = {
    "index.html": "text/html; charset=utf-8",
    "style.css": "text/css; charset=utf-8",
    "app.js": "text/javascript; charset=utf-8",
    "charts.js": "text/javascript; charset=utf-8",
    "controls.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
"""Files of the page with their types; nothing else is served."""


def routes(explorer: Explorer, workers: Workers) -> list[Any]:
    """Return the routes of the explorer; ``/`` is its page."""
    route = need("starlette.routing").Route
    answers = {
        "row": explorer.row,
        "predict": explorer.predict,
        "fan": explorer.fan,
        "python": explorer.python,
    }
    return [
        *(route("/" if name == "index.html" else f"/explore/{name}", _file(name)) for name in FILES),
        route("/explore/facts", safely(_facts(explorer, workers))),
        *(
            route(f"/explore/{name}", safely(_answering(answer, explorer, workers)), methods=["POST"])
            for name, answer in answers.items()
        ),
    ]


def page_file(name: str) -> bytes:
    """Return a file of the page."""
    return files("diffgbm.serving").joinpath("static", name).read_bytes()


def _file(name: str) -> Any:
    content = page_file(name)

    async def send(request: Any) -> Any:
        return need("starlette.responses").Response(content, media_type=None, headers={"content-type": FILES[name]})

    return send


def _facts(explorer: Explorer, workers: Workers) -> Any:
    async def send(request: Any) -> Any:
        return await answered(workers, explorer.facts)

    return send


def _answering(answer: Callable[[Any], dict[str, Any]], explorer: Explorer, workers: Workers) -> Any:
    def parsed(body: bytes) -> dict[str, Any]:
        return answer(parse_json(body))

    async def send(request: Any) -> Any:
        # a form of another page cannot send this type without being asked for permission
        check_type(request.headers.get("content-type", ""))
        body = await read_body(request, explorer.service.limits)
        return await answered(workers, parsed, body)

    return send
