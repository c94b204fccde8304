"""What the explorer's page asks for: columns, a row's distribution, a fan along one column, rows of a table, Python."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from diffgbm._util.errors import kept_warnings
from diffgbm._util.types import Array
from diffgbm.data.novelty import category_columns
from diffgbm.distributions import PredictiveDistribution
from diffgbm.reporting.smooth import pictures
from diffgbm.serving.answers import plain
from diffgbm.serving.controls import Control, control_of, fan_values, typical_value
from diffgbm.serving.problems import RequestError, shown
from diffgbm.serving.service import REFUSED, Service
from diffgbm.serving.snippets import snippet
from diffgbm.serving.table_rows import RowTable

INNER = 0.5
"""Coverage of the inner band of the fan chart."""
MOST_SETTINGS = 2
"""Settings of a row that are compared."""


@dataclass(frozen=True)
class Explorer:
    """Answers the explorer's page.

    Attributes
    ----------
    service : Service
        The model.
    path : str
        Its file, as the user named it.
    table : RowTable, optional
        Rows that may be loaded.
    trusted : tuple of str
        Types that loading the model must trust.
    """

    service: Service
    path: str
    table: RowTable | None = None
    trusted: tuple[str, ...] = ()

    @cached_property
    def controls(self) -> dict[str, Control]:
        """Controls of all columns, in the order of the training table."""
        reader = self.service.reader
        pairs = zip(reader.names, reader.features.columns, strict=True)
        return {name: control_of(name, how, self._seen(j)) for j, (name, how) in enumerate(pairs)}

    def _seen(self, j: int) -> Array:
        """Return the numbers of a column in the training rows that the model remembers, and in the table."""
        reference = self.service.model.fitted_models()[0].reference
        parts = [np.empty(0)]
        if reference is not None:
            # the model remembers seven digits
            parts.append(np.array([float(f"{value:.7g}") for value in reference.values[:, j].astype(np.float64)]))
        if self.table is not None:
            parts.append(self._overview[:, j])
        return np.concatenate(parts)

    @cached_property
    def _overview(self) -> Array:
        assert self.table is not None
        features = self.service.reader.features
        return np.asarray(features.overview(self.table.X, self.service.reader.owner), dtype=np.float64)

    def facts(self) -> dict[str, Any]:
        """Return what the page shows at first."""
        return {
            "model": self.service.name,
            "kind": type(self.service.model).__name__,
            "targets": self.service.targets,
            "controls": [control.facts() for control in self.controls.values()],
            "start": self.start(),
            "table": None if self.table is None else {"name": self.table.name, "rows": len(self.table)},
        }

    def start(self) -> dict[str, Any]:
        """Return the row that the page shows first: the training row with the closest neighbours, without its text."""
        start = {name: control.value for name, control in self.controls.items()}
        model = self.service.model.fitted_models()[0]
        if model.reference is None:
            return start
        values = model.reference.values.astype(np.float64)
        categories = category_columns(model.features)
        scores = model.reference.distances(values, categories, np.zeros(values.shape, dtype=bool))
        central = values[int(np.argmin(scores))]
        found = {name: typical_value(self.controls[name], central[j]) for j, name in enumerate(start)}
        return {name: start[name] if value is None else value for name, value in found.items()}

    def row(self, asked: Any) -> dict[str, Any]:
        """Return a row of the table: ``{"row": 3}``, from 0."""
        i = _object(asked).get("row")
        if self.table is None:
            raise RequestError(422, "There is no table: start with diffgbm explore MODEL ROWS.")
        if not isinstance(i, int) or isinstance(i, bool) or not 0 <= i < len(self.table):
            raise RequestError(422, f"row must be an integer from 0 to {len(self.table) - 1}; got {shown(i)}.")
        return {"row": self.table.row(i), "observed": self.table.responses(i)}

    def predict(self, asked: Any) -> dict[str, Any]:
        """Return what is drawn of one or two rows: ``{"rows": [...], "coverage": .9, "threshold": c, "target": y}``."""
        asked = _object(asked)
        rows = asked.get("rows")
        if not isinstance(rows, list) or not 1 <= len(rows) <= MOST_SETTINGS:
            raise RequestError(422, f"rows must be a list of at most {MOST_SETTINGS} rows; got {shown(rows)}.")
        coverage, threshold, target = self._asked(asked)
        return {"predictions": [self._drawn(row, coverage, threshold, target) for row in rows]}

    def fan(self, asked: Any) -> dict[str, Any]:
        """Return intervals along a column: ``{"row": {...}, "column": x, "coverage": .9, "target": y}``."""
        asked = _object(asked)
        row, name = _object(asked.get("row")), asked.get("column")
        coverage, _, target = self._asked(asked)
        if not isinstance(name, str) or name not in self.controls:
            raise RequestError(422, f"column must be one of the model's; got {shown(name)}.")
        values = fan_values(self.controls[name], row.get(name))
        if not values:
            return {"values": [], "median": [], "inner": [], "outer": []}
        with kept_warnings():
            X = self.service.reader.table([{**row, name: value} for value in values])
            distribution = self._distribution(X)
            outer, inner = (self._ends(distribution, X, share)[:, target] for share in (coverage, INNER))
        median = distribution.marginals()[target].quantile(0.5)
        return {"values": values, "median": plain(median), "inner": plain(inner), "outer": plain(outer)}

    def python(self, asked: Any) -> dict[str, Any]:
        """Return Python for a row: ``{"row": {...}, "coverage": .9, "threshold": c, "target": y}``."""
        asked = _object(asked)
        coverage, threshold, target = self._asked(asked)
        row = _object(asked.get("row"))
        reader, targets = self.service.reader, self.service.targets
        reader.table([row])  # what the model does not read has no code
        code = snippet(reader, row, self.path, targets[target], targets, coverage, threshold, self.trusted)
        return {"code": code}

    def _asked(self, asked: Mapping[str, Any]) -> tuple[float, float | None, int]:
        """Return coverage, threshold and the position of the target."""
        coverage, threshold = asked.get("coverage", 0.9), asked.get("threshold")
        if not _is_number(coverage) or not 0.0 < coverage < 1.0:
            raise RequestError(422, f"coverage must lie between 0 and 1; got {shown(coverage)}.")
        if threshold is not None and not _is_number(threshold):
            raise RequestError(422, f"threshold must be a number; got {shown(threshold)}.")
        target = asked.get("target", self.service.targets[0])
        if target not in self.service.targets:
            raise RequestError(422, f"target must be one of {self.service.targets}; got {shown(target)}.")
        found = None if threshold is None else float(threshold)
        return float(coverage), found, self.service.targets.index(target)

    def _drawn(self, row: Any, coverage: float, threshold: float | None, target: int) -> dict[str, Any]:
        with kept_warnings() as messages:
            X = self.service.reader.table([row])
            distribution = self._distribution(X)
            ends = self._ends(distribution, X, coverage)[0, target]
            novelty = self._novelty(X)
        marginal = distribution.marginals()[target]
        mean, median = (float(np.ravel(value)[target]) for value in (distribution.mean(), distribution.median()))
        found = {
            "mean": mean,
            "median": median,
            "interval": plain(ends),
            "above": None if threshold is None else plain(marginal.sf(threshold))[0],
            "novelty": novelty,
            "warnings": list(dict.fromkeys(messages)),
        }
        return {**found, **_curve(marginal)}

    def _distribution(self, X: Any) -> Any:
        try:
            return self.service.model.predict_distribution(X)
        except REFUSED as error:
            raise RequestError(422, " ".join(str(error).split())) from error

    def _ends(self, distribution: Any, X: Any, coverage: float) -> Array:
        """Return intervals (n, d, 2)."""
        try:
            ends = self.service.model.interval_of(distribution, X, coverage)
        except REFUSED as error:
            raise RequestError(422, " ".join(str(error).split())) from error
        return ends.reshape(len(X), -1, 2)

    def _novelty(self, X: Any) -> float | None:
        """Return how unlike the training rows a row is; ``None`` if the model cannot say."""
        try:
            return float(np.ravel(np.asarray(self.service.model.predict_novelty(X)))[0])
        except REFUSED:
            return None


def _curve(marginal: PredictiveDistribution) -> dict[str, Any]:
    """Return the density and the point masses of the only row of a distribution."""
    [picture] = pictures(marginal)
    names = ("grid", "density", "atoms", "masses")
    arrays = {name: getattr(picture, name) for name in names}
    return {name: plain(np.asarray(values)) for name, values in arrays.items()}


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise RequestError(422, f"This must be an object; got {shown(value)}.")
    return value


def _is_number(value: Any) -> bool:
    try:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:
        return False
