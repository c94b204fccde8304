import json

from diffgbm.serving.openapi import document
from diffgbm.serving.service import Service
from tests.conftest import tiny, toy
from tests.serving.models import ROW


def test_the_document_has_the_columns_of_the_model(service):
    found = json.loads(json.dumps(document(service), allow_nan=False))
    assert found["openapi"].startswith("3.1")
    row = found["components"]["schemas"]["Row"]
    assert set(row["required"]) == set(ROW)
    assert row["properties"]["size"]["type"] == ["number", "null"]
    assert row["properties"]["town"]["type"] == ["string", "null"]
    assert row["properties"]["town"]["examples"] == ["<b>Genève</b>", "Bern", "Zug"]
    assert row["properties"]["floor"]["type"] == ["number", "null"]
    assert row["properties"]["built"]["format"] == "date"
    assert row["properties"]["seen"]["format"] == "date-time"
    assert row["properties"]["open"]["description"] == "duration; days"
    assert "type" not in row["properties"]["unused"]
    assert set(found["paths"]) == {"/predict", "/schema", "/health"}


def references(value):
    """All references of a document."""
    if isinstance(value, dict):
        yield from [value["$ref"]] if "$ref" in value else []
        for each in value.values():
            yield from references(each)
    elif isinstance(value, list):
        for each in value:
            yield from references(each)


def test_references_lead_somewhere(service):
    found = document(service)
    names = {f"#/components/schemas/{name}" for name in found["components"]["schemas"]}
    assert set(references(found)) == names


def test_limits_and_statuses_are_named(service):
    post = document(service)["paths"]["/predict"]["post"]
    assert set(post["responses"]) == {"200", "400", "408", "413", "415", "422", "503"}
    assert "10,000 rows" in post["responses"]["413"]["description"]
    assert {"application/json", "text/csv"} == set(post["requestBody"]["content"])


def test_several_responses_have_their_names():
    X, y = toy(d=2)
    found = document(Service(tiny().fit(X, y)))["components"]["schemas"]["Prediction"]
    assert list(found["properties"]) == ["y0", "y1"]
