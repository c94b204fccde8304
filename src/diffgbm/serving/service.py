"""A model as a service: bytes of a request in, values of JSON out, without any web framework."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from diffgbm._util.errors import kept_warnings
from diffgbm.estimators.base import DistributionalRegressor
from diffgbm.serving.answers import answer
from diffgbm.serving.limits import Limits
from diffgbm.serving.problems import RequestError, shown
from diffgbm.serving.questions import DEFAULT, Question, query_question, read_question
from diffgbm.serving.rows import READING, RowReader

REFUSED = (ValueError, TypeError, OverflowError)
"""Errors of a model about the rows it is given."""
JSON, CSV = "application/json", "text/csv"


@dataclass(frozen=True)
class Service:
    """A model that answers requests; it may be asked by many threads at once.

    Attributes
    ----------
    model : DistributionalRegressor
        The model.
    name : str
        Name of its file.
    limits : Limits
        What is accepted in one request.
    """

    model: DistributionalRegressor
    name: str = "model"
    limits: Limits = field(default_factory=Limits)

    @cached_property
    def reader(self) -> RowReader:
        """Reads rows as the model does."""
        features = self.model.fitted_models()[0].features
        return RowReader(features, type(self.model).__name__, self.model.file_reading_, self.limits)

    @cached_property
    def targets(self) -> list[str]:
        """Names of the responses."""
        return list(self.model.response_names())

    def predict(self, body: bytes, content_type: str, query: Sequence[tuple[str, str]]) -> dict[str, Any]:
        """Answer a request.

        Parameters
        ----------
        body : bytes
            Rows as JSON or CSV.
        content_type : str
            Which of both.
        query : sequence of (str, str)
            Questions, and for CSV how it is written.

        Returns
        -------
        dict
            ``targets``, ``predictions`` (one for each row) and ``warnings``.

        Raises
        ------
        RequestError
            If the request is refused.
        """
        kind = check_type(content_type)
        reading = {name: [v for n, v in query if n == name] for name in READING} if kind == CSV else {}
        asked = query_question([(name, value) for name, value in query if name not in reading])
        with kept_warnings() as messages:
            if kind == CSV:
                if not body.strip():
                    raise RequestError(422, "The body is empty: send CSV whose first line names the columns.")
                X, question = self.reader.csv_table(body, reading), asked
            else:
                rows, question = read_json(body, asked)
                X = self.reader.table(rows)
            predictions = self.ask(X, question)
        return {"targets": self.targets, "predictions": predictions, "warnings": list(dict.fromkeys(messages))}

    def ask(self, X: Any, question: Question) -> list[dict[str, Any]]:
        """Answer a question about the rows of a table; what the model refuses is a ``RequestError``."""
        self.limits.check_numbers(len(X), question.numbers * len(self.targets))
        try:
            return answer(self.model, X, question)
        except REFUSED as error:
            raise RequestError(422, " ".join(str(error).split()) or type(error).__name__) from error

    def health(self) -> dict[str, Any]:
        """Return what a monitor asks for."""
        return {"status": "ok", "model": self.name, "kind": type(self.model).__name__, "targets": self.targets}

    def warm_up(self) -> None:
        """Prepare the model, and predict a row without values, so that the first request does not wait."""
        self.model.warm_up()
        with kept_warnings():
            X = self.reader.table([dict.fromkeys(self.reader.names)])
            answer(self.model, X, DEFAULT)


def check_type(content_type: str) -> str:
    """Return the type of a body, JSON or CSV; refuse others."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind == JSON or (kind.startswith("application/") and kind.endswith("+json")):
        return JSON
    if kind in (CSV, "application/csv"):
        return CSV
    found = shown(content_type) if content_type else "none"
    raise RequestError(
        415, f"The header Content-Type must be {JSON} or {CSV}; got {found}. With curl: -H 'Content-Type: {JSON}'."
    )


def read_json(body: bytes, asked: Question = DEFAULT) -> tuple[Any, Question]:
    """Return the rows and the question of a JSON body; a list holds rows only, about which ``asked`` is answered."""
    value = parse_json(body)
    if isinstance(value, list):
        return value, asked
    if not isinstance(value, dict) or "rows" not in value:
        raise RequestError(
            422, 'The body must be an object with a list "rows", or a list of rows; ' + _instead(value) + "."
        )
    questions = {name: one for name, one in value.items() if name != "rows"}
    return value["rows"], read_question(questions) if questions else asked


def _instead(value: Any) -> str:
    return f"it has {', '.join(map(shown, list(value)[:5])) or 'nothing'}" if isinstance(value, dict) else shown(value)


def parse_json(body: bytes) -> Any:
    """Parse JSON; NaN and Infinity, which Python writes, are accepted, and names must not repeat."""
    if not body.strip():
        raise RequestError(400, 'The body is empty: send {"rows": [{...}]}.')
    try:
        return json.loads(body, object_pairs_hook=_distinct)
    except json.JSONDecodeError as error:
        raise RequestError(
            400, f"The body is not JSON: {error.msg} (line {error.lineno}, column {error.colno})."
        ) from None
    except UnicodeDecodeError:
        raise RequestError(400, "The body is not JSON: it is not text in UTF-8.") from None
    except RecursionError:
        raise RequestError(400, "The body is nested too deeply.") from None
    except ValueError:  # integers of thousands of digits
        raise RequestError(400, "The body holds an integer with too many digits.") from None


def _distinct(pairs: list[tuple[str, Any]]) -> Mapping[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise RequestError(400, f"An object has the name {shown(twice)} twice.")
    return found
