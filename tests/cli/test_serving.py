"""``diffgbm serve`` and ``explore``: what they check first, what they print, and that they stop cleanly."""

import json
import re
import signal
import subprocess
import sys
import urllib.request

import pytest

from diffgbm.cli import serving
from tests.cli.houses import SMALL, houses, rows

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A model file."""
    from diffgbm import DiffGBM

    path = tmp_path_factory.mktemp("serving") / "houses.dgbm"
    frame = houses()
    DiffGBM.flow(**SMALL).fit(rows(frame), frame["price"]).save(path)
    return path


@pytest.fixture
def calls(monkeypatch):
    """What the server would be started with."""
    found = []

    def start(service, listening, workers, hosts=None, more_routes=None):
        listening.close()
        found.append((service, workers, hosts, more_routes))

    monkeypatch.setattr(serving.server, "run", start)
    return found


def test_the_server_says_where_it_listens(file, calls, run):
    code, out, err = run("serve", file, "--port", 0, "--workers", 3, "--max-rows", 7, "--max-megabytes", 0.5)
    assert (code, err) == (0, "")
    assert re.match(rf"{file} predicts price at http://127.0.0.1:\d+ \(POST /predict, .*Ctrl\+C stops it", out)
    [(service, workers, hosts, _)] = calls
    assert (service.name, workers, service.limits.rows, service.limits.body) == ("houses.dgbm", 3, 7, 500_000)
    assert "localhost" in hosts
    assert service.model.n_jobs == 1


def test_a_program_gets_json_and_quiet_prints_nothing(file, calls, run):
    facts = json.loads(run("serve", file, "--port", 0, "--json")[1])
    assert facts["targets"] == ["price"]
    assert facts["url"].startswith("http://127.0.0.1:")
    assert run("serve", file, "--port", 0, "--quiet") == (0, "", "")


def test_other_machines_are_let_in_by_name_only_and_with_a_warning(file, calls, run):
    _, _, err = run("serve", file, "--host", "0.0.0.0", "--port", 0, "--allow-host", "models.example")
    assert "neither passwords nor encryption" in err
    assert "models.example" in calls[0][2]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--port", "70000"], "--port must lie between 0 and 65535; got 70000"),
        (["--workers", "0"], "--workers must be an integer >= 1; got 0"),
        (["--max-rows", "0"], "--max-rows"),
        (["--max-megabytes", "0"], "--max-megabytes"),
        (["--max-megabytes", "nan"], "--max-megabytes"),
        (["--jobs", "0"], "n_jobs"),
        (["--host", "no.such.host.invalid"], "cannot listen on no.such.host.invalid"),
    ],
)
def test_wrong_options_are_refused(file, calls, refused, words, message):
    refused(["serve", file, *words], message)
    assert calls == []


def test_the_explorer_says_what_to_open(file, calls, run, folder, monkeypatch):
    opened = []
    monkeypatch.setattr(serving.webbrowser, "open", opened.append)
    code, out, err = run("explore", file, folder / "test.csv", "--port", 0, "--open")
    assert (code, err) == (0, "")
    url = re.match(rf"Open (http://127.0.0.1:\d+) in a browser to explore {file}. Ctrl\+C stops it", out)[1]
    assert opened == [url]
    [(service, _, hosts, more_routes)] = calls
    assert service.targets == ["price"]
    assert "localhost" in hosts
    explorer = more_routes.args[0]
    assert (len(explorer.table), explorer.path) == (60, str(file))
    facts = json.loads(run("explore", file, "--port", 0, "--json")[1])
    assert facts["rows"] == 0
    assert len(opened) == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["{in}/one.dgbm"], "the name must end in one of"),
        (["{out}/no.csv"], "no.csv"),
        (["--port", "-5"], "--port must lie"),
    ],
)
def test_wrong_tables_of_the_explorer_are_refused(file, calls, refused, words, message):
    refused(["explore", file, *words], message)
    assert calls == []


def test_a_missing_library_is_named_before_the_model_is_read(calls, refused, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    refused(["serve", "no.dgbm"], r"pip install uvicorn \(or 'diffgbm\[serve\]'\)")


def test_a_process_answers_and_stops_with_code_zero(file):
    command = [sys.executable, "-m", "diffgbm", "serve", str(file), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            url = re.search(r"http://\S+", process.stdout.readline())[0]
            with urllib.request.urlopen(f"{url}/health", timeout=60) as answer:
                assert json.load(answer)["status"] == "ok"
            process.send_signal(signal.SIGTERM)
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, out, err) == (0, "Stopped.\n", "")
