"""Coverage in groups: by interquartile range, by numbers, by categories."""

import numpy as np
import pandas as pd

from diffgbm.reporting import groups
from diffgbm.reporting.rows import read_rows
from tests.conftest import tiny
from tests.reporting.models import SCALES, known_scales


def test_groups_show_where_intervals_of_constant_width_fail(known_facts):
    last = known_facts.responses[0].by_iqr.groups
    # half of the rows have each interquartile range, and equal values share a group
    assert [g.covered.count for g in last] == [int((known_scales(known_facts) == s).sum()) for s in SCALES]
    for group in last:
        assert group.covered.low <= 0.9 <= group.covered.high
    assert last[0].constant > 0.97
    assert last[1].constant < 0.87


def test_categories_and_missing_values(mixed):
    _, X, _, report = mixed
    response = report.facts.responses[0]
    first, category = (next(g for g in response.by_features if g.by == name) for name in X.columns[:2])
    assert first.groups[-1].label == "missing"
    assert first.groups[-1].covered.count == X.iloc[:, 0].isna().sum()
    assert sum(g.covered.count for g in first.groups) == len(X)
    assert [g.label for g in category.groups] == ["</script><b>", "x", "é", "missing or new"]
    assert sum(g.covered.count for g in category.groups) == len(X)


def test_ends_of_a_group_have_as_many_digits_as_tell_them_apart():
    X = np.column_stack([np.linspace(-118.49, -118.01, 50), np.arange(50.0)])
    rows = read_rows(tiny(residualize="off").fit(X, X[:, 1]), X)
    labels = [label for label, _ in groups.labelled_groups(rows, 0, np.arange(50))]
    assert all(" to " in label for label in labels)
    assert len(set(labels)) == groups.BINS


def test_rare_categories_share_a_group():
    n = 400
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"c": pd.Categorical([f"k{i % 20}" for i in range(n)]), "x": rng.normal(size=n)})
    rows = read_rows(tiny().fit(X, rng.normal(size=n)), X)
    inside = rng.uniform(size=n) < 0.9
    result = groups.by_feature(groups.Intervals(inside, inside, np.ones(n)), rows, 0).groups
    assert [g.label for g in result][-1] == "13 others"
    assert len(result) == groups.CATEGORIES + 1
    assert sum(g.covered.count for g in result) == n
