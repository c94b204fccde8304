"""Rank statistics of the protocol against published constants, scipy, hand-worked cases and the paper's numbers."""

import math

import numpy as np
import pytest
from benchmarks.families import FAMILIES, HEADLINE
from benchmarks.tables import paper_values as paper
from benchmarks.tables.ranking import cliques, critical_difference, friedman, mean_ranks, nemenyi, wilcoxon
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

THREE = ("published", "score_flex_sde", "flow_vp")


def test_ranks_of_ties_share_their_mean():
    values = np.array([[1.0, 2.0], [1.0, 5.0], [3.0, 2.0]])
    # first data set: 1.5, 1.5, 3; second: 1.5, 3, 1.5
    assert mean_ranks(values).tolist() == [1.5, 2.25, 2.25]


def test_friedman_of_a_hand_worked_case_without_ties():
    # ranks 1, 2, 3 on each of four data sets: chi2 = 12 N / (k (k + 1)) (1 + 4 + 9 - k (k + 1)^2 / 4) = 4 (14 - 12)
    values = np.array([[1.0] * 4, [2.0] * 4, [3.0] * 4])
    result = friedman(values)
    assert result.chi2 == pytest.approx(8.0)
    assert result.p_value == pytest.approx(stats.chi2.sf(8.0, 2))


@given(arrays(np.float64, (5, 6), elements=st.floats(0.1, 10.0), unique=True))
def test_friedman_is_scipys_and_follows_from_the_mean_ranks(values):
    result = friedman(values)
    expected = stats.friedmanchisquare(*values)
    assert (result.chi2, result.p_value) == pytest.approx((expected.statistic, expected.pvalue))
    ranks = mean_ranks(values)
    assert result.chi2 == pytest.approx(12 * 6 / (5 * 6) * (np.sum(ranks**2) - 5 * 36 / 4))


@pytest.mark.parametrize("shape", [(2, 5), (4, 1)])
def test_friedman_needs_three_families_and_two_data_sets(shape):
    assert friedman(np.arange(math.prod(shape), dtype=float).reshape(shape)) is None


def test_friedman_of_ties_only_is_not_computed():
    assert friedman(np.ones((4, 5))) is None


@pytest.mark.parametrize(("k", "q"), [(2, 1.960), (3, 2.343), (5, 2.728), (9, 3.102), (10, 3.164)])
def test_critical_difference_has_demsars_constants(k, q):
    # Demšar (2006), table 5(a): q at 0.05
    assert critical_difference(k, 7) == pytest.approx(q * math.sqrt(k * (k + 1) / 42.0), abs=6e-4 * math.sqrt(k))


def test_critical_difference_of_the_paper():
    assert round(critical_difference(9, 11), 2) == paper.NEMENYI_CD


def test_nemenyi_is_at_the_level_where_ranks_differ_by_the_critical_difference():
    gap = critical_difference(4, 10)
    p_values = nemenyi(np.array([1.0, 1.0 + gap, 2.0, 1.0]), 10)
    assert p_values[0, 1] == pytest.approx(0.05, abs=1e-6)
    assert np.array_equal(p_values, p_values.T)
    assert p_values[0, 3] == 1.0
    assert np.all(np.diag(p_values) == 1.0)


def test_nemenyi_agrees_with_scikit_posthocs():
    posthocs = pytest.importorskip("scikit_posthocs")
    values = np.random.default_rng(0).random((6, 9))
    expected = posthocs.posthoc_nemenyi_friedman(values.T).to_numpy()
    assert nemenyi(mean_ranks(values), 9) == pytest.approx(expected, abs=1e-6)


def test_cliques_are_the_maximal_runs_within_the_difference():
    assert cliques(np.array([1.0, 2.0, 2.5, 4.0, 6.0]), 1.5) == [(0, 2), (2, 3)]
    assert cliques(np.array([1.0, 3.0, 5.0]), 1.0) == []
    assert cliques(np.array([1.0, 1.5, 2.0]), 9.0) == [(0, 2)]


def test_wilcoxon_of_eleven_wins_is_the_papers():
    other = np.linspace(0.1, 40.0, 11)
    result = wilcoxon(other * np.linspace(0.7, 0.99, 11), other)
    assert (result.wins, result.losses, result.ties, result.statistic) == (11, 0, 0, 0.0)
    assert result.p_value == pytest.approx(2.0**-11)
    wins, losses, statistic, p_value = paper.WILCOXON.rows[0][1]
    assert (result.wins, result.losses, result.statistic) == (wins, losses, statistic)
    assert float(f"{result.p_value:.1e}") == p_value


def test_wilcoxon_by_hand_with_a_loss_and_a_tie():
    # |log ratio| ranks of the three that differ: 1.1 -> 1 (a loss), 1/2 -> 2, 1/4 -> 3; sums 0..1 have 2 of 8 signs
    result = wilcoxon(np.array([1.1, 1.0, 0.5, 7.0]), np.array([1.0, 2.0, 2.0, 7.0]))
    assert (result.wins, result.losses, result.ties, result.statistic) == (2, 1, 1, 1.0)
    assert result.p_value == pytest.approx(2 / 8)


def test_wilcoxon_does_not_depend_on_units():
    random = np.random.default_rng(1)
    row, other, units = random.random(8) + 0.5, random.random(8) + 0.5, 10.0 ** random.integers(-4, 4, 8)
    assert wilcoxon(row * units, other * units).statistic == wilcoxon(row, other).statistic


def test_wilcoxon_of_ties_only_has_no_p_value():
    result = wilcoxon(np.ones(4), np.ones(4))
    assert (result.wins, result.losses, result.ties) == (0, 0, 4)
    assert math.isnan(result.p_value)


# the paper's numbers: values that follow from two tables must agree up to rounding


@pytest.mark.parametrize("family", THREE)
def test_papers_crpss_is_the_mean_of_its_data_sets(family):
    values = paper.PER_DATA_SET.column(family)
    assert np.mean(values) == pytest.approx(paper.HEADLINE.get(family, "crpss"), abs=1e-3)
    error = np.std(values, ddof=1) / math.sqrt(11)
    assert error == pytest.approx(paper.RANKS.get(family, "crpss_se"), abs=1e-3)


@pytest.mark.parametrize("family", THREE)
@pytest.mark.parametrize(("size", "low", "high"), [("small", 0, 1e3), ("medium", 1e3, 1e4), ("large", 1e4, 1e9)])
def test_papers_sizes_are_means_of_its_data_sets(family, size, low, high):
    chosen = [name for name, row in paper.PER_DATA_SET.rows if low < row[0] <= high]
    assert np.mean(paper.PER_DATA_SET.column(family, chosen)) == pytest.approx(paper.SIZES.get(family, size), abs=1e-3)


@pytest.mark.parametrize("family", THREE)
def test_papers_extended_table_gives_its_aggregates(family):
    crps, seconds = paper.EXTENDED_CRPS.column(family), paper.EXTENDED_SAMPLE.column(family)
    assert np.mean(crps) == pytest.approx(paper.COMPETITORS.get(family, "crps"), abs=2e-3)
    assert np.mean(seconds) == pytest.approx(paper.COMPETITORS.get(family, "sample"), abs=0.1)
    assert np.mean(seconds[:-1]) == pytest.approx(paper.TIMING.get(family, "sample"), abs=0.05)
    errors = paper.EXTENDED_CE_90.column(family)
    assert np.mean(errors) == pytest.approx(paper.HEADLINE.get(family, "ce_90"), abs=1e-3)


def test_papers_margins_follow_from_its_crps():
    for data_set, winner, percent in paper.EXTENDED_MARGIN:
        crps = {family: paper.EXTENDED_CRPS.get(data_set, family) for family in THREE}
        best, second, _ = sorted(crps.values())
        assert crps[winner] == best
        half = 0.5 * 10.0 ** -(6 if data_set == "naval" else 3 if best < 1.0 else 2)  # decimals that are printed
        low, high = (second - half) / (best + half), (second + half) / (best - half)
        assert low - 0.0005 <= 1.0 + percent / 100.0 <= high + 0.0005


def test_papers_tables_agree_where_they_print_the_same_number():
    for family in HEADLINE:
        for name in ("crpss", "rel_crps"):
            assert paper.HEADLINE.get(family, name) == paper.RANKS.get(family, name)
        for name in ("crpss", "ce_95"):
            assert paper.HEADLINE.get(family, name) == paper.COMPETITORS.get(family, name)
        fit, sample, total = paper.TIMING.column("fit"), paper.TIMING.column("sample"), paper.TIMING.column("total")
        assert np.add(fit, sample) == pytest.approx(total, abs=0.011)


def test_papers_mean_ranks_sum_to_those_of_nine_and_give_its_friedman_statistic():
    for name in ("crps_rank", "ce_95_rank"):
        assert sum(paper.RANKS.column(name)) == pytest.approx(9 * 10 / 2, abs=9 * 0.005 + 1e-9)
    ranks = np.array(paper.RANKS.column("crps_rank"))
    chi2 = 12 * 11 / 90 * (np.sum(ranks**2) - 9 * 100 / 4)
    # each rank is rounded by 0.005 at most, but to elevenths, so that the sum of squares is off by 2 * 45 * 0.005
    assert chi2 == pytest.approx(paper.FRIEDMAN_CHI2, abs=12 * 11 / 90 * 2 * 45 * 0.005)
    exact = np.round(ranks * 11) / 11
    assert round(12 * 11 / 90 * (np.sum(exact**2) - 9 * 100 / 4), 1) == paper.FRIEDMAN_CHI2


def test_papers_tables_name_families_and_data_sets_that_exist():
    for table in (paper.HEADLINE, paper.TIMING, paper.RANKS, paper.COMPETITORS, paper.SIZES):
        assert {name for name, _ in table.rows} <= set(FAMILIES)
        assert {name for name, _ in table.rows} >= set(HEADLINE)
    for table in (paper.PER_DATA_SET, paper.EXTENDED_CRPS, paper.EXTENDED_CE_90, paper.EXTENDED_SAMPLE):
        assert [name for name, _ in table.rows] == list(paper.DATA_SETS)
    assert paper.HEADLINE.get("published", "no such column") is None
    assert paper.HEADLINE.get("flow_trig", "crpss") is None
