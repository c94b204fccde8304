"""Boosters stored as text: untrusted text is checked in full, and LightGBM reads it only when it is needed."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import lightgbm as lgb

from diffgbm.engine.check import END, check_notes, check_text
from diffgbm.engine.forest import CannotCollapse, Forest, check_sum


class StoredBooster:
    """A booster kept as LightGBM's text.

    It answers what the engines and the estimator ask of a booster. The collapsed tables need only its forest, so that
    LightGBM itself reads the text when, and only when, its own ``predict`` is called.

    Parameters
    ----------
    text : str
        As ``text_of`` returns it.
    forest : Forest, optional
        Its trees, if they have been read already.
    """

    best_iteration = -1
    """All trees of the text count."""

    def __init__(self, text: str, forest: Forest | None = None) -> None:
        self.text = text
        self._forest = forest

    @classmethod
    def checked(cls, text: str, n_features: int) -> StoredBooster:
        """Read a text that may be anything; raise ``ValueError`` unless both readers can follow it safely."""
        header, fields, forest = check_text(text, n_features)
        try:
            check_sum(header, fields)
        except CannotCollapse:
            return cls(text)
        return cls(text, forest)

    def __reduce__(self) -> tuple[Any, ...]:
        return StoredBooster, (self.text,)

    @property
    def forest(self) -> Forest:
        """The trees; raises ``CannotCollapse`` if the booster is not their sum."""
        if self._forest is None:
            self._forest = Forest.from_string(self.text)
        return self._forest

    @cached_property
    def booster(self) -> lgb.Booster:
        """LightGBM's own; raises ``ValueError`` if it holds something that LightGBM cannot read."""
        check_notes(self.text)
        try:
            return lgb.Booster(model_str=self.text)
        except lgb.basic.LightGBMError as error:
            raise ValueError(f"LightGBM cannot read it: {error}") from None

    def predict(self, X: Any, **options: Any) -> Any:
        """Predict by LightGBM's own booster."""
        return self.booster.predict(X, **options)

    def num_trees(self) -> int:
        """Return the number of trees."""
        return self.text.count("\nTree=")

    def model_to_string(self, num_iteration: int = -1) -> str:
        """Return the text; all iterations of it, as those beyond the best were never stored."""
        return self.text


AnyBooster = lgb.Booster | StoredBooster


def forest_of(booster: AnyBooster) -> Forest:
    """Return a booster's trees up to its best iteration."""
    return booster.forest if isinstance(booster, StoredBooster) else Forest.from_booster(booster)


def text_of(booster: AnyBooster) -> str:
    """Return a booster's trees as text, up to its best iteration, without the notes on its training that follow."""
    best = booster.best_iteration
    text = str(booster.model_to_string(num_iteration=best if best > 0 else -1))
    return text.partition(END)[0] + END


def lightgbm_of(booster: AnyBooster) -> lgb.Booster:
    """Return LightGBM's own booster."""
    return booster.booster if isinstance(booster, StoredBooster) else booster
