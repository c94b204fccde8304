"""The commands ``serve`` and ``explore``: a model behind HTTP, for programs and for people."""

from __future__ import annotations

import sys
import webbrowser
from functools import partial
from pathlib import Path
from typing import Annotated

from diffgbm._util.errors import check_count
from diffgbm._util.optional import need
from diffgbm.cli.output import hide_warnings, print_result
from diffgbm.cli.parameters import Json, ModelFile, Quiet, Trust, reads_tables
from diffgbm.data.file_format import ReadingOptions
from diffgbm.data.file_tables import FOUND
from diffgbm.data.table_files import TableFileError
from diffgbm.estimators.loading import load
from diffgbm.serving import server
from diffgbm.serving.explorer import Explorer
from diffgbm.serving.limits import Limits
from diffgbm.serving.pages import routes
from diffgbm.serving.service import Service
from diffgbm.serving.table_rows import read_rows

typer = need("typer")

Host = Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 lets other machines ask.")]
Port = Annotated[int, typer.Option(help="Port; 0 takes a free one.")]
AllowHost = Annotated[
    list[str],
    typer.Option(
        "--allow-host", help="Name by which clients may ask besides localhost, e.g. behind a proxy; repeat for several."
    ),
]
Workers = Annotated[int | None, typer.Option(help="Predictions at the same time; by default one for each core.")]
Threads = Annotated[int, typer.Option("--jobs", help="Threads of each prediction; -1 takes all cores.")]
MaxRows = Annotated[int, typer.Option(help="Most rows of a request.")]
MaxMegabytes = Annotated[float, typer.Option(help="Most megabytes of a request.")]


def serve(
    model: ModelFile,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    allow_host: AllowHost = [],  # noqa: B006  # typer reads the default, nothing writes to it
    workers: Workers = None,
    jobs: Threads = 1,
    max_rows: MaxRows = 10_000,
    max_megabytes: MaxMegabytes = 10.0,
    trust: Trust = [],  # noqa: B006
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Answer predictions over HTTP: POST /predict takes rows as JSON or CSV; /schema and /health describe the model.

    Only this machine can ask, unless --host says otherwise. Stop it with Ctrl+C.
    """
    hide_warnings(quiet)
    address = server.Address(host, _port(port), tuple(allow_host))
    count = _workers(workers)
    service = _service(model, trust, jobs, _limits(max_rows, max_megabytes))
    listening = server.listen(address)
    url = server.url_of(listening)
    targets = ", ".join(service.targets)
    text = f"{model} predicts {targets} at {url} (POST /predict, GET /schema, GET /health). Ctrl+C stops it."
    _print_start({"url": url, "targets": service.targets, "workers": count}, text, quiet, as_json)
    _say_if_open(address, quiet)
    server.run(service, listening, count, address.hosts)
    if not (quiet or as_json):
        print("Stopped.")


@reads_tables
def explore(
    model: ModelFile,
    rows: Annotated[Path | None, typer.Argument(help="Table whose rows may be loaded into the page.")] = None,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    allow_host: AllowHost = [],  # noqa: B006
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    workers: Workers = None,
    jobs: Threads = 1,
    trust: Trust = [],  # noqa: B006
    quiet: Quiet = False,
    as_json: Json = False,
    options: ReadingOptions = FOUND,
) -> None:
    """Open a model as a page: features are sliders and menus, and the predictive distribution moves with them.

    The page is served by this machine and loads nothing from elsewhere. Stop it with Ctrl+C.
    """
    hide_warnings(quiet)
    address = server.Address(host, _port(port), tuple(allow_host))
    count = _workers(workers)
    service = _service(model, trust, jobs, Limits())
    table = None
    if rows is not None:
        table = read_rows(rows, service.reader.features, service.targets, service.model.file_reading_, options)
    explorer = Explorer(service, str(model), table, tuple(trust))
    explorer.facts()
    listening = server.listen(address)
    url = server.url_of(listening)
    text = f"Open {url} in a browser to explore {model}. Ctrl+C stops it."
    _print_start({"url": url, "targets": service.targets, "rows": len(table or ())}, text, quiet, as_json)
    _say_if_open(address, quiet)
    if open_page:
        webbrowser.open(url)
    server.run(service, listening, count, address.hosts, partial(routes, explorer))
    if not (quiet or as_json):
        print("Stopped.")


def _service(path: Path, trust: list[str], jobs: int, limits: Limits) -> Service:
    """Load a model and make it ready: what is missing is said before the model is read."""
    for module in ("starlette", "uvicorn", "pyarrow"):
        need(module)
    model = load(path, trusted=trust).set_threads(jobs)
    if getattr(model, "preprocess", None) is not None:
        raise ValueError("a model with preprocess predicts in Python: diffgbm.load(path).predict_interval(X).")
    service = Service(model, path.name, limits)
    service.warm_up()
    return service


def _limits(max_rows: int, max_megabytes: float) -> Limits:
    if not 0.0 < max_megabytes <= 10_000.0:
        raise TableFileError(f"--max-megabytes must lie between 0 and 10,000; got {max_megabytes:g}.")
    rows = check_count("--max-rows", max_rows, 1)
    return Limits(body=int(1e6 * max_megabytes), rows=rows)


def _port(port: int) -> int:
    if not 0 <= port < 65536:
        raise TableFileError(f"--port must lie between 0 and 65535; got {port}.")
    return port


def _workers(workers: int | None) -> int:
    return server.default_workers() if workers is None else check_count("--workers", workers, 1)


def _print_start(facts: dict[str, object], text: str, quiet: bool, as_json: bool) -> None:
    """Print where the server listens, at once: a reader may wait for it."""
    print_result(facts, text, quiet, as_json)
    sys.stdout.flush()


def _say_if_open(address: server.Address, quiet: bool) -> None:
    if not address.is_loopback and not quiet:
        print(
            "diffgbm: other machines can ask this server. It has neither passwords nor encryption: put it behind a "
            "proxy that has.",
            file=sys.stderr,
        )
