import re
from pathlib import Path

import pytest

import diffgbm.serving
from diffgbm.serving.application import LOOPBACK, Workers, application
from diffgbm.serving.explorer import Explorer
from diffgbm.serving.pages import FILES, page_file, routes
from tests.serving.client import Client
from tests.serving.models import ROW

pytest.importorskip("starlette")
STATIC = Path(diffgbm.serving.__file__).parent / "static"


@pytest.fixture(scope="module")
def client(service):
    workers = Workers(2, 10)
    return Client(application(service, workers, LOOPBACK, routes(Explorer(service, "houses.dgbm"), workers)))


def test_the_page_and_its_files_are_sent_with_their_types(client):
    assert {path.name for path in STATIC.iterdir()} == set(FILES)
    for name, kind in FILES.items():
        answer = client.get("/" if name == "index.html" else f"/explore/{name}")
        assert (answer.status_code, answer.headers["content-type"]) == (200, kind)
        assert answer.content == page_file(name)
        assert "script-src 'self'" in answer.headers["content-security-policy"]
    for path in ("/explore/../pages.py", "/explore/pages.py", "/explore/", "/explore/%2e%2e/pages.py"):
        assert client.get(path).status_code == 404


def test_nothing_of_the_page_comes_from_elsewhere_or_is_inline():
    page = page_file("index.html").decode()
    assert re.findall(r'(?:src|href)="(?!/explore/|#)', page) == []
    assert re.findall(r"<script(?![^>]* src=)|\son\w+=|style=|<style", page) == []
    for name in ("app.js", "charts.js", "controls.js", "style.css"):
        text = page_file(name).decode().replace("http://www.w3.org/2000/svg", "")
        assert "http" not in text
        assert re.findall(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|new Function", text) == []
        assert re.findall(r"@import|url\(", text) == []


def test_the_page_asks_and_is_answered(client, service):
    assert client.get("/explore/facts").json()["targets"] == ["price"]
    asked = {"rows": [ROW], "threshold": 500, "coverage": 0.9}
    found = client.post("/explore/predict", json=asked)
    assert found.json()["predictions"][0]["mean"] > 0
    assert client.post("/explore/fan", json={"row": ROW, "column": "size"}).json()["values"]
    assert "diffgbm.load('houses.dgbm')" in client.post("/explore/python", json={"row": ROW}).json()["code"]
    # the service is there, too
    assert client.post("/predict", json=[ROW]).status_code == 200


@pytest.mark.parametrize("name", ["predict", "fan", "python", "row"])
def test_wrong_requests_are_refused(client, name):
    path = f"/explore/{name}"
    assert client.get(path).status_code == 405
    assert client.post(path, content=b"{}").status_code == 415
    assert client.post(path, content=b"{}", headers={"content-type": "text/plain"}).status_code == 415
    assert client.post(path, content=b"{", headers={"content-type": "application/json"}).status_code == 400
    assert client.post(path, json=3).status_code == 422
    assert client.post(path, json={}).status_code == 422
