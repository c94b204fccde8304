import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diffgbm.serving.limits import Limits
from diffgbm.serving.problems import RequestError
from diffgbm.serving.service import Service, check_type, parse_json
from tests.serving.models import ROW, as_frame, everything, fitted

JSON = "application/json"


def ask(service, body, query=(), kind=JSON):
    return service.predict(body if isinstance(body, bytes) else json.dumps(body).encode(), kind, list(query))


def refused(service, body, status, query=(), kind=JSON):
    with pytest.raises(RequestError) as caught:
        ask(service, body, query, kind)
    assert caught.value.status == status
    return str(caught.value)


def test_a_request_is_answered_as_python_answers(service, model):
    rows = [ROW, {**ROW, "size": None}, {**ROW, "town": "Bern"}]
    found = ask(service, {"rows": rows, "mean": True, "quantiles": [0.1, 0.9]})
    X = as_frame(rows)
    assert found["targets"] == ["price"]
    assert found["warnings"] == []
    assert [row["mean"] for row in found["predictions"]] == model.predict(X).tolist()
    quantiles = [[q["value"] for q in row["quantiles"]] for row in found["predictions"]]
    assert quantiles == model.predict_quantiles(X, [0.1, 0.9]).to_numpy().tolist()


def test_a_list_of_rows_takes_questions_from_the_query(service):
    by_query = ask(service, [ROW], [("quantiles", "0.5"), ("above", "400")])
    assert by_query == ask(service, {"rows": [ROW], "quantiles": 0.5, "probability": {"above": 400.0}})
    assert by_query == ask(service, {"rows": [ROW]}, [("quantiles", "0.5"), ("above", "400")])


def test_csv_gives_the_answers_of_json():
    X = everything()[["size", "rooms", "town", "built"]].iloc[:10]
    service = Service(fitted(X))
    rows = json.loads(X.to_json(orient="records", date_format="iso"))
    rows = [{**row, "built": row["built"][:10]} for row in rows]
    csv = X.to_csv(index=False).encode()
    assert ask(service, csv, [("interval", "0.9")], "text/csv") == ask(service, {"rows": rows, "interval": 0.9})
    assert "'built' held dates" in refused(
        service, b"size,rooms,town,built\n1,2,Zug,soon", 422, kind="text/csv; charset=utf-8"
    )
    assert "empty" in refused(service, b"  \n", 422, kind="text/csv")


def test_new_categories_are_reported(service):
    [warning] = ask(service, {"rows": [{**ROW, "town": "Zuerich"}]})["warnings"]
    assert "'town'" in warning
    assert "category that training did not have" in warning
    assert ask(service, {"rows": [ROW]})["warnings"] == []


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (b"", 400, "empty"),
        (b"   ", 400, "empty"),
        (b"{", 400, "not JSON"),
        (b"\xff\xfe\x00", 400, "not JSON"),
        (b"[" * 200_000, 400, "nested too deeply"),
        (b'{"rows":' * 100_000, 400, "nested too deeply"),
        (b'{"rows": [{"size": ' + b"9" * 5000 + b"}]}", 400, "too many digits"),
        (b'{"rows": [{"size": 1, "size": 2}]}', 400, "'size' twice"),
        (b"null", 422, '"rows"'),
        (b"3", 422, '"rows"'),
        (b'"rows"', 422, '"rows"'),
        (b"{}", 422, "it has nothing"),
        (b'{"row": []}', 422, "it has 'row'"),
        (b'{"rows": []}', 422, "rows is empty"),
        (b'{"rows": [], "mean": "yes"}', 422, "mean must be"),
        (b'{"rows": {"size": 3}}', 422, "no column"),
    ],
)
def test_bodies_that_are_no_request_are_refused(service, body, status, words):
    assert words in refused(service, body, status)


@pytest.mark.parametrize("kind", ["", "text/html", "application/x-www-form-urlencoded", "json", "é", "a/" + "b" * 999])
def test_other_types_are_refused_with_the_header_to_send(service, kind):
    assert "Content-Type: application/json" in refused(service, b"{}", 415, kind=kind)


@pytest.mark.parametrize("kind", ["application/json", "Application/JSON; charset=utf-8", "application/ld+json"])
def test_types_of_json(kind):
    assert check_type(kind) == JSON


def test_nan_and_infinity_are_read_as_python_writes_them(service, model):
    found = ask(service, json.dumps({"rows": [{**ROW, "size": float("nan"), "rooms": float("inf")}]}).encode())
    X = as_frame([{**ROW, "size": None, "rooms": np.inf}])
    assert found["predictions"][0]["mean"] == model.predict(X)[0]
    assert parse_json(b'\xef\xbb\xbf{"a": NaN}')["a"] != 0


def test_answers_are_bounded(model):
    service = Service(model, limits=Limits(numbers=10, rows=5))
    ask(service, {"rows": [ROW], "samples": 10})
    assert "11 numbers" in refused(service, {"rows": [ROW], "samples": 11}, 413)
    assert "999,999,999 numbers" in refused(service, {"rows": [ROW], "samples": 999_999_999}, 413)
    refused(service, {"rows": [ROW] * 6}, 413)


def test_samples_are_those_of_the_seed(service):
    first, again, other = (ask(service, {"rows": [ROW], "samples": 5, "seed": s})["predictions"] for s in (1, 1, 2))
    assert first == again != other


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from(
        ["0001-01-01", "9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59", "2020-13-01", "\x00", "1e400"]
    ),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


@settings(max_examples=60, deadline=None)
@given(
    values=st.dictionaries(st.sampled_from([*ROW, "unused", "other"]), ODD, max_size=5),
    asked=st.dictionaries(
        st.sampled_from(["mean", "interval", "quantiles", "probability", "seed", "other"]), ODD, max_size=2
    ),
)
def test_hostile_values_are_answered_or_refused(service, values, asked):
    outcome = outcome_of(service, json.dumps({"rows": [{**ROW, **values}], **asked}).encode(), JSON, [])
    assert 400 <= outcome < 500 if isinstance(outcome, int) else len(outcome["predictions"]) == 1


def outcome_of(service, body, kind, query):
    """The answer, or the status of a refusal; either is valid JSON."""
    try:
        found = service.predict(body, kind, query)
    except RequestError as error:
        json.dumps(error.facts(), allow_nan=False)
        return error.status
    json.dumps(found, allow_nan=False)
    return found


@settings(max_examples=40, deadline=None)
@given(
    body=st.binary(max_size=200),
    query=st.lists(
        st.tuples(
            st.sampled_from(
                ["interval", "above", "between", "samples", "sep", "na", "encoding", "decimal", "date_format"]
            ),
            st.text(max_size=8),
        ),
        max_size=2,
    ),
)
def test_hostile_csv_is_answered_or_refused(service, body, query):
    header = ",".join(service.reader.names).encode()
    for content in (body, header + b"\n" + body):
        outcome = outcome_of(service, content, "text/csv", query)
        assert isinstance(outcome, dict) or 400 <= outcome < 500


def test_the_service_says_what_it_is(service):
    assert service.health() == {"status": "ok", "model": "houses.dgbm", "kind": "DiffGBM", "targets": ["price"]}
    service.warm_up()
