"""Values of command-line options; an invalid one raises an error that names the option."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from diffgbm._util.errors import check_count, choose, known
from diffgbm.auto.presets import PRESETS
from diffgbm.data.table_files import TableFileError
from diffgbm.diffusion.recipe import NAMED
from diffgbm.estimators.auto import AutoDiffGBM
from diffgbm.estimators.diffgbm import DiffGBM
from diffgbm.fitting.limits import check_support

RECIPES: dict[str, Callable[..., DiffGBM]] = {
    name.replace("_plus", "+"): partial(DiffGBM, **arguments) for name, arguments in NAMED.items()
}
DEFAULT_RECIPE = "flow"
"""The recipe that ``tune`` compares with."""
DEFAULT_PRESET = "fast"
"""The preset of ``fit`` without --recipe, --preset and --time-limit."""


def quantile_levels(text: str) -> list[float]:
    """Read levels separated by commas."""
    try:
        levels = [float(part) for part in text.split(",")]
    except ValueError:
        levels = []
    if not levels or not all(0.0 <= level <= 1.0 for level in levels):
        raise TableFileError(f"--quantiles must be levels from 0 to 1, separated by commas: .05,.5,.95; got {text!r}.")
    return levels


def coverage_levels(values: Sequence[float]) -> list[float]:
    """Check the coverages of --interval, and drop those that repeat."""
    for value in values:
        if not 0.0 < value < 1.0:
            raise TableFileError(f"--interval must lie between 0 and 1, e.g. .9; got {value:g}.")
    return list(dict.fromkeys(values))


def settings(options: Sequence[str], estimator: type[DiffGBM] | type[AutoDiffGBM] = DiffGBM) -> dict[str, Any]:
    """Read ``name=value`` pairs: arguments of the estimator, with numbers, true, false, null or text as values."""
    arguments = {}
    for option in options:
        name, equals, text = option.partition("=")
        if not equals:
            raise TableFileError(f"--set must be name=value, e.g. num_leaves=63; got {option!r}.")
        try:
            value = json.loads(text)
        except ValueError:
            value = text
        arguments[known("--set", name, estimator().get_params(deep=False))] = value
    return arguments


def limits_of(values: tuple[str, str] | None) -> dict[str, Any]:
    """Read the limits of --support as the argument ``support``: numbers, or none for an open end."""
    if values is None:
        return {}
    try:
        ends = tuple(None if text.lower() == "none" else float(text) for text in values)
        check_support(ends)
    except ValueError:
        raise TableFileError(
            "--support must be two numbers, the lower one first, or none for an open end, e.g. --support 0 none; "
            f"got {' '.join(values)}."
        ) from None
    return {"support": ends}


def seconds(option: str, value: float | None, unit: float = 1.0) -> float | None:
    """Return a positive number of units in seconds; ``None`` stays ``None``."""
    if value is None:
        return None
    if not (value > 0.0 and math.isfinite(value)):
        raise TableFileError(f"{option} must be a number > 0; got {value:g}.")
    return unit * value


def estimator_of(
    recipe: str | None,
    preset: str | None,
    time_limit: float | None,
    options: Sequence[str],
    *,
    seed: int,
    jobs: int,
    verbose: int,
    support: tuple[str, str] | None = None,
) -> DiffGBM | AutoDiffGBM:
    """Return the estimator that ``fit`` trains: one recipe, or an automatic search within a time limit."""
    common = {"seed": check_count("--seed", seed, 0), "n_jobs": jobs, "verbose": verbose, **limits_of(support)}
    limit = seconds("--time-limit", time_limit)
    if recipe is not None and (preset is not None or limit is not None):
        raise TableFileError("--recipe names a model; --preset and --time-limit search for one: use one or the other.")
    if recipe is not None:
        return choose("--recipe", recipe, RECIPES)(**{**common, **settings(options)})
    _check_settings_of_search(options)
    # who gives the time has it used: the fast preset stops early
    chosen = preset or (DEFAULT_PRESET if limit is None else "balanced")
    search = {"preset": known("--preset", chosen, PRESETS), "time_limit": limit}
    return AutoDiffGBM(**{**common, **search, **settings(options, AutoDiffGBM)})


def _check_settings_of_search(options: Sequence[str]) -> None:
    """Refuse settings of one model beside a search for models."""
    one, search = (set(estimator().get_params(deep=False)) for estimator in (DiffGBM, AutoDiffGBM))
    for name in (option.partition("=")[0] for option in options):
        if name in one - search:
            raise TableFileError(f"--set {name} is a setting of one model: add --recipe {DEFAULT_RECIPE}.")
