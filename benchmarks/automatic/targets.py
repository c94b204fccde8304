"""The targets of the automatic fit, and whether the lines meet them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from benchmarks.automatic.rivals import NO_RIVALS, Rivals
from benchmarks.automatic.summary import (
    BEST_OF_NINE,
    FLOW,
    Fits,
    Lines,
    geometric_mean,
    metric,
    of_exact_distributions,
    uniform,
)
from benchmarks.automatic.variants import DATA_SETS, DISCRETE, REPEATED_DATA

State = Literal["met", "not met", "incomplete"]

WITHOUT_NAVAL = tuple(name for name in DATA_SETS if name != "naval")


@dataclass(frozen=True)
class Target:
    """One target.

    Attributes
    ----------
    text : str
        The target.
    measured : str
        The measured value.
    state : {"met", "not met", "incomplete"}
        ``incomplete``: data sets are missing that could still change the answer.
    """

    text: str
    measured: str
    state: State


def targets(fits: Fits, rivals: Rivals = NO_RIVALS) -> list[Target]:
    """Test the lines of both presets; without repeated rows, against families fitted on the same rows."""
    best, fast = fits.best, fits.fast
    return [
        _at_most_reference("best: CRPS at most the best of nine on at least 8 of 10", best, BEST_OF_NINE, DATA_SETS, 8),
        _every_ratio(best),
        _geometric(best),
        _calibration(best, 90, 0.02),
        _calibration(best, 50, 0.03),
        _uniform(best),
        _longest("best: longest fit at most 600 s on two cores", best, 600.0, lambda n: True),
        _at_most_reference("fast: CRPS below the paper's flow row on 10 of 10", fast, FLOW, DATA_SETS, 10, strict=True),
        _longest("fast: longest fit below 10,000 rows at most 30 s on two cores", fast, 30.0, lambda n: n < 10_000),
        _on_same_rows(
            "best, repeated rows removed: CRPS at most the best of nine on the same rows, on 3 of 3",
            fits.best_unrepeated,
            rivals.best,
        ),
        _on_same_rows(
            "fast, repeated rows removed: CRPS at most the tuned flow's on the same rows, on 3 of 3",
            fits.fast_unrepeated,
            rivals.flow,
        ),
    ]


def _state(lines: Lines, needed: tuple[str, ...], ok: bool, hopeless: bool) -> State:
    """``ok`` counts once every data set has lines; ``hopeless`` counts at once."""
    if hopeless:
        return "not met"
    if set(needed) - set(lines.data_sets):
        return "incomplete"
    return "met" if ok else "not met"


def _at_most_reference(
    text: str,
    lines: Lines,
    reference: Mapping[str, float],
    needed: tuple[str, ...],
    wanted: int,
    strict: bool = False,
) -> Target:
    ratios = {name: ratio for name, ratio in lines.ratios(reference).items() if name in needed}
    good = sum(ratio < 1.0 if strict else ratio <= 1.0 for ratio in ratios.values())
    bad = len(ratios) - good
    state = _state(lines, needed, good >= wanted, bad > len(needed) - wanted)
    return Target(text, f"{good} of {len(ratios)}", state)


def _on_same_rows(text: str, lines: Lines, rival: Callable[[str, Sequence[int]], float | None]) -> Target:
    """Compare with families fitted on the same rows; the paper's numbers include repeated rows."""
    ours = {name: lines.mean(name, metric("crps")) for name in lines.data_sets}
    result = {name: crps for name in ours if (crps := rival(name, lines.folds(name))) is not None}
    good = [name for name, crps in result.items() if ours[name] <= crps]
    bad = [name for name in result if name not in good]
    state: State = "not met" if bad else "met" if set(good) == set(REPEATED_DATA) else "incomplete"
    return Target(text, f"{len(good)} of {len(good) + len(bad)}", state)


def _every_ratio(lines: Lines) -> Target:
    ratios = lines.ratios(BEST_OF_NINE)
    worst = max(ratios, key=lambda name: ratios[name], default="")
    high = ratios.get(worst, 0.0)
    measured = f"{high:.3f} ({worst})" if ratios else "—"
    text = "best: CRPS at most 1.02 times the best of nine everywhere"
    return Target(text, measured, _state(lines, DATA_SETS, high <= 1.02, high > 1.02))


def _geometric(lines: Lines) -> Target:
    result = geometric_mean(r for name, r in lines.ratios(BEST_OF_NINE).items() if name != "naval")
    text = "best: geometric mean of the ratios without naval at most 0.88"
    return Target(text, _number(result), _state(lines, WITHOUT_NAVAL, result <= 0.88, False))


def _calibration(lines: Lines, level: int, limit: float) -> Target:
    """Test the mean over all data sets; report that of exact distributions, and that without discrete responses."""
    error = metric(f"coverage_error_{level}")
    result, exact = lines.overall(error), lines.overall(of_exact_distributions(level))
    many = lines.without(DISCRETE).overall(error)
    text = f"best: mean absolute coverage error at {level}% at most {limit:.2f}"
    measured = (
        f"{_number(result)} (exact distributions: {_number(exact)}); without {' and '.join(DISCRETE)} {_number(many)}"
    )
    return Target(text, measured, _state(lines, DATA_SETS, result <= limit, False))


def _uniform(lines: Lines) -> Target:
    passed = [uniform(line) for line in lines.by_fold.values()]
    measured = f"{sum(passed):.0f} of {len(passed)} fits"
    ok = bool(passed) and 2 * sum(passed) >= len(passed)
    return Target("best: PIT-KS passes on at least half of the fits", measured, _state(lines, DATA_SETS, ok, False))


CORES = 2


def _longest(text: str, lines: Lines, limit: float, counts: Callable[[int], bool]) -> Target:
    """Test the seconds on ``CORES`` cores: seconds with one thread are divided by ``CORES``."""
    fits = [line for line in lines.by_fold.values() if counts(line["n_train"])]
    seconds = [line["fit_seconds"] * min(line["threads"], CORES) / CORES for line in fits]
    high = max(seconds, default=0.0)
    measured = f"{high:.0f} s" if seconds else "—"
    return Target(text, measured, _state(lines, DATA_SETS, high <= limit, high > limit))


def _number(value: float) -> str:
    return "—" if value != value else f"{value:.3f}"
