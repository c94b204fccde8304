"""Rules that test a claim of the paper on measured lines: it holds, it does not hold, or it is within noise.

Every rule is a frozen dataclass that a study file fills in, with ``decide(results)``. If a paired test is significant
at level ``alpha`` in the claimed direction, the claim holds; in the opposite direction it does not hold; otherwise it
is within noise.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from scipy import stats

from benchmarks.paper_studies.results import Results, best_of
from diffgbm._util.types import Array

Finding = Literal["holds", "does not hold", "within noise", "not measured"]
Test = Literal["wilcoxon", "t", "sign", "exact"]
Over = Literal["folds", "data_sets"]


@dataclass(frozen=True)
class Outcome:
    """The result of a claim, and the numbers behind it as text."""

    finding: Finding
    numbers: str


class Rule(Protocol):
    """Interface of a rule."""

    def uses(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Arms and measures that the rule reads."""
        ...

    def decide(self, results: Results) -> Outcome:
        """Test the claim."""
        ...


UNMEASURED = Outcome("not measured", "no lines")


@dataclass(frozen=True)
class PairedTest:
    """A paired comparison: mean difference, pairs with a negative one, the statistic and its p-values."""

    n: int
    difference: float
    lower: int
    statistic: float
    p_less: float
    p_greater: float

    @property
    def p_two_sided(self) -> float:
        """Twice the smaller one-sided p-value."""
        return min(1.0, 2.0 * min(self.p_less, self.p_greater))


def paired_test(d: Array, test: Test) -> PairedTest:
    """Test differences ``d`` (n,) for being below and above zero.

    ``exact`` is for numbers without sampling error: the sign of the mean decides.
    """
    lower, mean = int(np.sum(d < 0.0)), float(np.mean(d))
    if test == "exact":
        return PairedTest(len(d), mean, lower, mean, float(mean >= 0.0), float(mean <= 0.0))
    if len(d) < 2 or not np.any(d):
        return PairedTest(len(d), mean, lower, np.nan, 1.0, 1.0)
    statistic, less = _one_sided(d, test, "less")
    _, greater = _one_sided(d, test, "greater")
    return PairedTest(len(d), mean, lower, statistic, less, greater)


def _one_sided(d: Array, test: Test, alternative: str) -> tuple[float, float]:
    with warnings.catch_warnings():  # few or tied pairs: the p-value is then the exact or the corrected one
        warnings.simplefilter("ignore")
        if test == "wilcoxon":
            result = stats.wilcoxon(d, alternative=alternative)
            return float(result.statistic), float(result.pvalue)
        if test == "sign":
            up, n = int(np.sum(d > 0.0)), int(np.sum(d != 0.0))
            return float(up), float(stats.binomtest(up, n, 0.5, alternative=alternative).pvalue)
        if np.ptp(d) == 0.0:  # zero variance: the t statistic is infinite
            sign = float(np.sign(d[0]))
            return sign * np.inf, float(sign > 0.0) if alternative == "less" else float(sign < 0.0)
        result = stats.ttest_1samp(d, 0.0, alternative=alternative)
        return float(result.statistic), float(result.pvalue)


def interval(values: Array, alpha: float, exact: bool = False) -> tuple[float, float]:
    """Return the t interval of the mean, of confidence ``1 - alpha``; a single value has none unless it is exact."""
    mean = float(np.mean(values))
    if len(values) < 2 and not exact:
        return -np.inf, np.inf
    if len(values) < 2 or np.ptp(values) == 0.0:
        return mean, mean
    half = float(stats.t.ppf(1.0 - 0.5 * alpha, len(values) - 1) * stats.sem(values))
    return mean - half, mean + half


def differences(results: Results, left: str, right: str, measure: str, over: str, relative: bool) -> Array:
    """Return ``left - right`` of all pairs, over ``right`` if ``relative``."""
    a, b = results.pairs(left, right, measure, over)
    return (a - b) / b if relative else a - b


def _finding_of(test: PairedTest, claimed: str, alpha: float) -> Finding:
    good, bad = (test.p_less, test.p_greater) if claimed == "less" else (test.p_greater, test.p_less)
    return "holds" if good < alpha else "does not hold" if bad < alpha else "within noise"


def _numbers_of(
    test: PairedTest, kind: Test, left: str, right: str, measure: str, results: Results, p: str, relative: bool = False
) -> str:
    means = results.mean(left, measure), results.mean(right, measure)
    text = f"{measure}: {left} {means[0]:.4g}, {right} {means[1]:.4g}"
    unit = " of the second" if relative else ""
    if kind == "exact":
        return text
    return f"{text}; mean difference {test.difference:+.3g}{unit}, lower in {test.lower} of {test.n}, {p}"


@dataclass(frozen=True)
class Compare:
    """``left`` is less (or greater) than ``right``, by a paired test over folds or data sets."""

    rule: Literal["less", "greater"]
    left: str
    right: str
    measure: str
    test: Test = "wilcoxon"
    alpha: float = 0.05
    over: Over = "folds"
    relative: bool = False

    def uses(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Arms and measures."""
        return (self.left, self.right), (self.measure,)

    def decide(self, results: Results) -> Outcome:
        """Test by the one-sided p-values."""
        d = differences(results, self.left, self.right, self.measure, self.over, self.relative)
        if not len(d):
            return UNMEASURED
        result = paired_test(d, self.test)
        # of the direction in which the numbers point
        p = f"one-sided p = {min(result.p_less, result.p_greater):.2g}"
        numbers = _numbers_of(result, self.test, self.left, self.right, self.measure, results, p, self.relative)
        return Outcome(_finding_of(result, self.rule, self.alpha), numbers)


@dataclass(frozen=True)
class Best:
    """``arm`` is better than the best of ``others`` by their means."""

    rule: Literal["best"]
    arm: str
    measure: str
    end: Literal["max", "min"]
    others: tuple[str, ...]
    test: Test = "wilcoxon"
    alpha: float = 0.05
    over: Over = "folds"

    def uses(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Arms and measures."""
        return (self.arm, *self.others), (self.measure,)

    def decide(self, results: Results) -> Outcome:
        """Compare with the strongest of the others."""
        others = [arm for arm in self.others if arm != self.arm]
        rival = best_of(others, lambda arm: results.mean(arm, self.measure), self.end)
        if rival is None:
            return UNMEASURED
        kind: Literal["less", "greater"] = "less" if self.end == "min" else "greater"
        return Compare(kind, self.arm, rival, self.measure, self.test, self.alpha, self.over).decide(results)


@dataclass(frozen=True)
class Same:
    """``left`` and ``right`` differ by no more than ``tolerance``, as the interval of the mean difference shows."""

    rule: Literal["same"]
    left: str
    right: str
    measure: str
    tolerance: float
    relative: bool = False
    alpha: float = 0.05
    over: Over = "folds"

    def uses(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Arms and measures."""
        return (self.left, self.right), (self.measure,)

    def decide(self, results: Results) -> Outcome:
        """Holds if the interval is within the tolerance, does not hold if it is outside."""
        d = differences(results, self.left, self.right, self.measure, self.over, self.relative)
        if not len(d):
            return UNMEASURED
        low, high = interval(d, self.alpha, results.computed)
        inside = -self.tolerance <= low and high <= self.tolerance
        outside = low > self.tolerance or high < -self.tolerance
        unit = "relative " if self.relative else ""
        numbers = (
            f"{self.left} - {self.right}: {unit}difference in {self.measure} {np.mean(d):+.3g} "
            f"[{low:+.3g}, {high:+.3g}], tolerance {self.tolerance:g}"
        )
        return Outcome("holds" if inside else "does not hold" if outside else "within noise", numbers)


@dataclass(frozen=True)
class Indistinguishable:
    """A two-sided paired test does not tell ``left`` from ``right``."""

    rule: Literal["indistinguishable"]
    left: str
    right: str
    measure: str
    test: Test = "wilcoxon"
    alpha: float = 0.05
    over: Over = "folds"

    def uses(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Arms and measures."""
        return (self.left, self.right), (self.measure,)

    def decide(self, results: Results) -> Outcome:
        """Holds unless the test finds a difference."""
        d = differences(results, self.left, self.right, self.measure, self.over, False)
        if not len(d):
            return UNMEASURED
        result = paired_test(d, self.test)
        p = f"two-sided p = {result.p_two_sided:.2g}"
        numbers = _numbers_of(result, self.test, self.left, self.right, self.measure, results, p)
        return Outcome("does not hold" if result.p_two_sided < self.alpha else "holds", numbers)


@dataclass(frozen=True)
class Between:
    """The mean of a measure lies in ``[low, high]``, with its interval; either end may be left open."""

    rule: Literal["between"]
    arm: str
    measure: str
    low: float = -np.inf
    high: float = np.inf
    alpha: float = 0.05

    def uses(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Arms and measures."""
        return (self.arm,), (self.measure,)

    def decide(self, results: Results) -> Outcome:
        """Holds if the interval is inside, does not hold if it is outside."""
        values = results.values(self.arm, self.measure)
        if not len(values):
            return UNMEASURED
        low, high = interval(values, self.alpha, results.computed)
        inside, outside = self.low <= low and high <= self.high, high < self.low or low > self.high
        around = f" [{low:.4g}, {high:.4g}]" if high > low else ""
        numbers = f"{self.arm}: {self.measure} {np.mean(values):.4g}{around}, required: {self._required()}"
        return Outcome("holds" if inside else "does not hold" if outside else "within noise", numbers)

    def _required(self) -> str:
        if np.isinf(self.low):
            return f"at most {self.high:g}"
        return f"at least {self.low:g}" if np.isinf(self.high) else f"{self.low:g} to {self.high:g}"


@dataclass(frozen=True)
class NotDominated:
    """No one of ``others`` is as good as ``arm`` in every measure (the lower the better) and better in one."""

    rule: Literal["not_dominated"]
    arm: str
    others: tuple[str, ...]
    measures: tuple[str, ...]
    test: Test = "wilcoxon"
    alpha: float = 0.05

    def uses(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Arms and measures."""
        return (self.arm, *self.others), self.measures

    def decide(self, results: Results) -> Outcome:
        """Does not hold if one dominates and a test confirms a gain; within noise if one does by its means only."""
        if not all(len(results.values(arm, self.measures[0])) for arm in (self.arm, *self.others)):
            return UNMEASURED
        finding: Finding = "holds"
        dominating: list[str] = []
        for other in self.others:
            ours = [results.mean(self.arm, measure) for measure in self.measures]
            theirs = [results.mean(other, measure) for measure in self.measures]
            if all(b <= a for a, b in zip(ours, theirs, strict=True)) and theirs != ours:
                tests = [
                    paired_test(differences(results, other, self.arm, measure, "folds", False), self.test)
                    for measure in self.measures
                ]
                confirmed = any(test.p_less < self.alpha for test in tests)
                finding = "does not hold" if confirmed or finding == "does not hold" else "within noise"
                dominating.append(f"{other} is no worse in all of {', '.join(self.measures)}")
        return Outcome(finding, "; ".join(dominating) or "each of the others is worse in at least one measure")


RULES: dict[str, type] = {
    "less": Compare,
    "greater": Compare,
    "best": Best,
    "same": Same,
    "indistinguishable": Indistinguishable,
    "between": Between,
    "not_dominated": NotDominated,
}
"""The rules by the name that a study file gives."""


def decide_all(rules: tuple[Rule, ...], results: Results) -> Outcome:
    """Combine several rules: all must hold; one that does not hold decides, else one within noise."""
    outcomes = [rule.decide(results) for rule in rules]
    findings = [outcome.finding for outcome in outcomes]
    order: tuple[Finding, ...] = ("not measured", "does not hold", "within noise", "holds")
    finding = next(v for v in order if v in findings)
    return Outcome(finding, "; ".join(outcome.numbers for outcome in outcomes))
