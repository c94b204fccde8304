"""``/schema``: the service as an OpenAPI document, with the columns of the model."""

from __future__ import annotations

from typing import Any

from diffgbm._version import __version__
from diffgbm.data.kinds import Column
from diffgbm.serving.limits import Limits
from diffgbm.serving.service import Service

MOST_CATEGORIES = 250
"""Most categories of a column that the document lists."""


def document(service: Service) -> dict[str, Any]:
    """Return the OpenAPI document of a service."""
    schemas = {
        "Row": _row(service),
        "Question": _question(service.limits),
        "Prediction": _prediction(service),
        "Answer": {
            "type": "object",
            "required": ["targets", "predictions", "warnings"],
            "properties": {
                "targets": {"type": "array", "items": {"type": "string"}, "description": "Names of the responses."},
                "predictions": {"type": "array", "items": _ref("Prediction"), "description": "One for each row."},
                "warnings": {"type": "array", "items": {"type": "string"}, "description": "New categories, far dates."},
            },
        },
        "Error": _error(),
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": f"{service.name}: the distribution of {', '.join(service.targets)}",
            "version": __version__,
            "description": "Predictive distributions of a DiffGBM model.",
        },
        "paths": {
            "/predict": {"post": _predict(service)},
            "/schema": {"get": _plain_get("This document.")},
            "/health": {"get": _plain_get("Whether the server answers, and for which model.")},
        },
        "components": {"schemas": schemas},
    }


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _plain_get(text: str) -> dict[str, Any]:
    return {"summary": text, "responses": {"200": {"description": text, "content": _json({"type": "object"})}}}


def _predict(service: Service) -> dict[str, Any]:
    limits = service.limits
    refused = {
        "400": "The body is not JSON.",
        "408": f"The body took longer than {limits.seconds:g} seconds.",
        "413": f"More than {limits.body:,} bytes, {limits.rows:,} rows or {limits.numbers:,} numbers of the answer.",
        "415": "The body is neither JSON nor CSV.",
        "422": "Rows or questions do not fit the model; the answer names row, column and remedy.",
        "503": "Too many requests wait.",
    }
    responses = {status: {"description": text, "content": _json(_ref("Error"))} for status, text in refused.items()}
    return {
        "summary": f"Predict the distribution of {', '.join(service.targets)} for each row.",
        "description": "Without a question, the answer is the mean and the 90% interval.",
        "parameters": [
            {"name": name, "in": "query", "required": False, "schema": {"type": "string"}, "description": text}
            for name, text in _QUERY.items()
        ],
        "requestBody": {
            "required": True,
            "content": {
                **_json(_ref("Question")),
                "text/csv": {
                    "schema": {"type": "string", "description": "The first line names the columns. Others are ignored."}
                },
            },
        },
        "responses": {"200": {"description": "The predictions.", "content": _json(_ref("Answer"))}, **responses},
    }


_QUERY = {
    "mean": "true for the mean (questions in the query are for CSV and for lists of rows)",
    "interval": "coverages, separated by commas: 0.5,0.9",
    "quantiles": "levels, separated by commas: 0.05,0.5,0.95",
    "above": "c, for P(y > c)",
    "below": "c, for P(y <= c)",
    "between": "a,b, for P(a < y <= b)",
    "samples": "number of samples of each row",
    "seed": "seed of the samples",
    "sep": "CSV: separator of columns",
    "decimal": "CSV: decimal mark",
    "na": "CSV: mark of missing values",
    "encoding": "CSV: encoding",
    "date_format": "CSV: format of dates",
}


def _row(service: Service) -> dict[str, Any]:
    reader = service.reader
    pairs = zip(reader.names, reader.features.columns, strict=True)
    return {
        "type": "object",
        "additionalProperties": False,
        "required": [name for name in reader.names if name not in reader.unused],
        "properties": {name: _column(how, reader.readers[name].schema) for name, how in pairs},
    }


def _column(how: Column, schema: dict[str, Any]) -> dict[str, Any]:
    """Describe a column; null is a missing value. Categories are no enum: new ones are predicted as missing."""
    found = {"description": "; ".join(filter(None, (how.kind, how.detail)))}
    if kinds := schema.get("type"):
        listed = kinds if isinstance(kinds, list) else [kinds]
        return {**schema, "type": [*listed, "null"], **found, **_categories(how)}
    return found


def _categories(how: Column) -> dict[str, Any]:
    return {"examples": list(how.levels[:MOST_CATEGORIES])} if how.levels else {}


def _question(limits: Limits) -> dict[str, Any]:
    number = {"type": "number"}
    event = {
        "type": "object",
        "description": '{"above": c} is P(y > c), {"below": c} is P(y <= c), {"between": [a, b]} is P(a < y <= b).',
        "properties": {
            "above": number,
            "below": number,
            "between": {"type": "array", "items": number, "minItems": 2, "maxItems": 2},
        },
        "minProperties": 1,
        "maxProperties": 1,
    }
    return {
        "type": "object",
        "required": ["rows"],
        "additionalProperties": False,
        "properties": {
            "rows": {"type": "array", "items": _ref("Row"), "minItems": 1, "maxItems": limits.rows},
            "mean": {"type": "boolean"},
            "interval": _one_or_list({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, "Coverages."),
            "quantiles": _one_or_list({"type": "number", "minimum": 0, "maximum": 1}, "Levels."),
            "probability": _one_or_list(event, "Events."),
            "samples": {"type": "integer", "minimum": 0, "description": "Samples of each row."},
            "seed": {"type": "integer", "minimum": 0, "default": 0, "description": "Seed of the samples."},
        },
    }


def _one_or_list(schema: dict[str, Any], text: str) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "array", "items": schema}], "description": text}


def _prediction(service: Service) -> dict[str, Any]:
    number = {"type": ["number", "null"]}
    share = {"type": "number"}
    fields: dict[str, Any] = {
        "mean": number,
        "interval": _list_of({"coverage": share, "lower": number, "upper": number}),
        "quantiles": _list_of({"level": share, "value": number}),
        "probability": _list_of(
            {"above": share, "below": share, "between": {"type": "array", "items": share}, "probability": number}
        ),
        "samples": {"type": "array", "items": number},
    }
    one = {"type": "object", "properties": fields}
    if service.model.fitted_models()[0].response.is_1d:
        return one
    return {"type": "object", "properties": dict.fromkeys(service.targets, one)}


def _list_of(fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "object", "properties": fields}}


def _error() -> dict[str, Any]:
    text = {"type": "string"}
    problem = {"message": text, "row": {"type": "integer"}, "column": text}
    return {
        "type": "object",
        "required": ["error", "problems"],
        "properties": {
            "error": {"type": "string", "description": "What is wrong, and what to do."},
            "problems": _list_of(problem),
            "more_problems": {"type": "integer"},
        },
    }
