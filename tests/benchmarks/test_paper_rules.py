"""Rules that test claims: each of the three results on constructed lines, and the statistical tests."""

from __future__ import annotations

import math

import numpy as np
import pytest
from benchmarks.paper_studies.results import Results
from benchmarks.paper_studies.rules import (
    Best,
    Between,
    Compare,
    Indistinguishable,
    NotDominated,
    Same,
    decide_all,
    interval,
    paired_test,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats


def results(**arms) -> Results:
    """Lines of one data set; an arm is a list of CRPS by fold, or a mapping of measure to such a list."""
    arms = {name: values if isinstance(values, dict) else {"crps": values} for name, values in arms.items()}
    n = len(next(iter(next(iter(arms.values())).values())))
    return Results(
        {
            ("a", fold): {arm: {m: values[fold] for m, values in measures.items()} for arm, measures in arms.items()}
            for fold in range(n)
        }
    )


LOW, HIGH = [1.0, 1.1, 0.9, 1.05, 0.95], [2.0, 2.2, 1.7, 2.05, 2.3]
MIXED = [1.1, 1.0, 1.0, 1.0, 1.0]


@pytest.mark.parametrize("test", ["wilcoxon", "t", "sign", "exact"])
def test_a_comparison_holds_fails_or_stays_open(test):
    def finding(kind, left, right):
        return Compare(kind, "l", "r", "crps", test).decide(results(l=left, r=right)).finding

    assert finding("less", LOW, HIGH) == finding("greater", HIGH, LOW) == "holds"
    assert finding("less", HIGH, LOW) == finding("greater", LOW, HIGH) == "does not hold"
    if test != "exact":
        assert finding("less", LOW, MIXED) == finding("greater", LOW, MIXED) == "within noise"
        assert finding("less", LOW, LOW) == "within noise"
        assert finding("less", [1.0], [2.0]) == "within noise"


def test_two_pairs_and_no_lines_decide_nothing():
    assert Compare("less", "l", "r", "crps").decide(results(l=[1.0, 1.0], r=[2.0, 3.0])).finding == "within noise"
    assert Compare("less", "l", "r", "crps").decide(Results({})).finding == "not measured"
    assert Compare("less", "l", "x", "crps").decide(results(l=LOW)).finding == "not measured"


def test_the_numbers_are_reported():
    numbers = Compare("less", "l", "r", "crps").decide(results(l=LOW, r=HIGH)).numbers
    assert numbers == "crps: l 1, r 2.05; mean difference -1.05, lower in 5 of 5, one-sided p = 0.031"


def test_relative_differences_do_not_depend_on_the_scale_of_a_data_set():
    lines = {("small", 0): (1e-3, 1.1e-3), ("large", 0): (100.0, 99.0)}
    made = Results({place: {"l": {"crps": a}, "r": {"crps": b}} for place, (a, b) in lines.items()})
    absolute = Same("same", "l", "r", "crps", tolerance=0.2).decide(made)
    relative = Same("same", "l", "r", "crps", tolerance=2.0, relative=True).decide(made)
    assert "+0.5" in absolute.numbers
    assert "-0.0404" in relative.numbers


def test_the_best_is_compared_with_the_strongest_of_the_others():
    made = results(a=LOW, b=HIGH, c=[value + 0.5 for value in HIGH])
    assert Best("best", "a", "crps", "min", ("b", "c")).decide(made).finding == "holds"
    assert Best("best", "c", "crps", "max", ("a", "b")).decide(made).finding == "holds"
    outcome = Best("best", "b", "crps", "min", ("a", "c")).decide(made)
    assert outcome.finding == "does not hold"
    assert "a 1" in outcome.numbers
    near = results(a=LOW, b=MIXED)
    assert Best("best", "b", "crps", "min", ("a", "b")).decide(near).finding == "within noise"
    assert Best("best", "a", "crps", "min", ("x",)).decide(made).finding == "not measured"


def test_equality_needs_an_interval_within_the_tolerance():
    left, right = [1.01, 1.02, 1.0, 1.01, 1.02], [1.0, 1.0, 1.0, 1.0, 1.0]
    made = results(l=left, r=right)

    def finding(tolerance):
        return Same("same", "l", "r", "crps", tolerance).decide(made).finding

    low, high = interval(np.subtract(left, right), 0.05)
    assert finding(high + 1e-6) == "holds"
    assert finding(0.5 * (low + high)) == "within noise"
    assert finding(0.5 * low) == "does not hold"


def test_indistinguishable_is_the_opposite_of_a_difference():
    rule = Indistinguishable("indistinguishable", "l", "r", "crps", "t")
    assert rule.decide(results(l=LOW, r=MIXED)).finding == "holds"
    assert rule.decide(results(l=LOW, r=HIGH)).finding == "does not hold"


def test_a_number_lies_between_its_bounds():
    made = results(a=LOW)
    assert Between("between", "a", "crps", 0.5, 1.5).decide(made).finding == "holds"
    assert Between("between", "a", "crps", 1.0, 2.0).decide(made).finding == "within noise"
    assert Between("between", "a", "crps", low=1.5).decide(made).finding == "does not hold"
    assert Between("between", "a", "crps", 0.5, 1.5).decide(results(a=[1.0])).finding == "within noise"
    assert Same("same", "a", "b", "crps", 0.5).decide(results(a=[1.0], b=[1.0])).finding == "within noise"
    single = Results({("computed", 1): {"a": {"slope": -1.0}}})  # a number of a formula is exact
    assert Between("between", "a", "slope", -1.01, -0.99).decide(single).finding == "holds"
    assert Between("between", "a", "slope", high=-1.5).decide(single).finding == "does not hold"


def test_domination_needs_every_measure_and_a_confirmed_gain():
    rule = NotDominated("not_dominated", "a", ("b",), ("crps", "q_mace"))
    ours = {"crps": HIGH, "q_mace": HIGH}
    assert rule.decide(results(a=ours, b={"crps": LOW, "q_mace": [3.0] * 5})).finding == "holds"
    assert rule.decide(results(a=ours, b={"crps": LOW, "q_mace": LOW})).finding == "does not hold"
    close = {"crps": HIGH, "q_mace": [value - 0.01 * (i == 0) for i, value in enumerate(HIGH)]}
    assert rule.decide(results(a=ours, b=close)).finding == "within noise"
    assert rule.decide(results(a=ours, b=ours)).finding == "holds"
    assert rule.decide(results(a=ours)).finding == "not measured"


def test_one_rule_that_fails_fails_the_claim():
    made = results(a=LOW, b=HIGH, c=MIXED)
    holds = Compare("less", "a", "b", "crps")
    opened, fails = Compare("less", "a", "c", "crps"), Compare("less", "b", "a", "crps")
    assert decide_all((holds,), made).finding == "holds"
    assert decide_all((holds, opened), made).finding == "within noise"
    assert decide_all((holds, opened, fails), made).finding == "does not hold"
    assert decide_all((holds, Compare("less", "a", "x", "crps")), made).finding == "not measured"


@given(arrays(np.float64, st.integers(5, 8), elements=st.floats(-3.0, 3.0).map(lambda v: round(v, 3))))
@settings(max_examples=25, deadline=None)
def test_paired_tests_are_scipys_and_mirror_themselves(d):
    for kind in ("wilcoxon", "t", "sign"):
        there, back = paired_test(d, kind), paired_test(-d, kind)
        assert there.difference == pytest.approx(-back.difference)
        assert there.p_less == pytest.approx(back.p_greater, abs=1e-12)
        assert 0.0 <= there.p_two_sided <= 1.0
    if np.ptp(d) > 0.0:
        assert paired_test(d, "t").statistic == pytest.approx(stats.ttest_1samp(d, 0.0).statistic)
        assert paired_test(d, "t").p_two_sided == pytest.approx(stats.ttest_1samp(d, 0.0).pvalue)


def test_differences_without_variance_are_certain():
    test = paired_test(np.full(4, -0.5), "t")
    assert (test.p_less, test.p_greater, test.statistic) == (0.0, 1.0, -math.inf)
    assert interval(np.full(4, 2.0), 0.05) == (2.0, 2.0)


def test_means_are_over_folds_and_then_over_data_sets():
    lines = {("a", 1): 1.0, ("a", 2): 3.0, ("b", 1): 10.0}
    made = Results({place: {"x": {"crps": v}, "y": {"crps": 2.0 * v}} for place, v in lines.items()})
    assert made.by_data_set("x", "crps") == {"a": 2.0, "b": 10.0}
    assert made.mean("x", "crps") == 6.0
    assert (made.mean("x", "rel_crps"), made.mean("y", "rel_crps")) == (1.0, 2.0)
    assert (made.mean("x", "raw_wins"), made.mean("y", "raw_wins")) == (2.0, 0.0)
    left, right = made.pairs("x", "y", "crps", "data_sets")
    np.testing.assert_array_equal(left, [2.0, 10.0])
    np.testing.assert_array_equal(right, [4.0, 20.0])
    assert math.isnan(made.mean("z", "crps"))


def test_missing_numbers_are_skipped():
    made = Results({("a", 1): {"x": {"crps": 1.0}}, ("a", 2): {"x": {"crps": 3.0, "dss": 5.0}}, ("b", 1): {"x": {}}})
    assert (made.mean("x", "crps"), made.mean("x", "dss")) == (2.0, 5.0)
    assert len(made.values("x", "dss")) == 1
