"""Tables of the speed benchmarks from constructed records; nothing is measured in a test."""

import argparse

import numpy as np
import pytest
from benchmarks.peers.recipes import OURS, RELEASED
from benchmarks.protocol import Fold, Standardiser

from benchmarks import accuracy_of_distributions, engine_speed, growth
from diffgbm.distributions.scalar import PredictiveDistribution


def record(package, seconds, rows):
    return {
        "recipe": "flow, 5 Heun",
        "size": "300 x 31",
        "threads": 1,
        "package": package,
        "rows": rows,
        "seconds_per_row": seconds,
    }


def test_engine_ratio_is_for_each_row():
    text = engine_speed.table([record(RELEASED, 0.05, 60), record(OURS, 0.0001, 3440)])
    assert "| flow, 5 Heun | 300 x 31 | 1 | 0.100 | 50 | 60 | **500** |" in text


def test_engine_shows_only_pairs():
    assert "**" not in engine_speed.table([record(OURS, 0.0001, 3440)])


@pytest.mark.parametrize("size", engine_speed.SIZES.values(), ids=lambda size: size.name)
@pytest.mark.parametrize("package", [OURS, RELEASED])
def test_engine_jobs_are_the_same_but_for_rows(size, package):
    rng = np.random.default_rng(0)
    fold = Fold(
        rng.normal(size=(90, 3)),
        rng.normal(size=90),
        rng.normal(size=(70, 3)),
        np.zeros(70),
        Standardiser.fit(np.ones(3)),
    )
    part, spec = engine_speed.jobs(fold, size, "EDM, 50 Euler", 2, package)
    assert spec["constructor"]["num_leaves"] == size.leaves
    assert spec["constructor"]["n_jobs"] == 2
    assert len(part.X_test) == (70 if package == OURS else min(70, size.released_rows))
    assert part.y_train.shape == ((90,) if size.n_responses == 1 else (90, 2))
    assert part.X_train.shape[1] == part.X_test.shape[1] == (3 if size.n_responses == 1 else 2)


def test_growth_is_in_units_of_200_samples():
    result = {
        "rows": {"m": [1e-4 * n for n in growth.ROWS]},
        "samples": {"m": [1e-5 * n for n in growth.SAMPLES]},
        "memory": {"m 300": {"before": 1e6, "peak": 9e6, "result": 5e6, "seconds": 1.0}},
        "memory_rows": 1000,
    }
    text = growth.table(result)
    row = next(line for line in text.splitlines() if line.startswith("| m |"))
    cells = [float(cell) for cell in row.strip("|").split("|")[1:]]
    assert cells[: len(growth.ROWS)] == [100.0] * len(growth.ROWS)
    assert cells[len(growth.ROWS) :] == [n / 200 for n in growth.SAMPLES]
    assert "| m 300 | 5 | 8 | 3 |" in text


def test_errors_of_a_distribution_against_itself_are_nothing():
    rng = np.random.default_rng(0)
    distribution = PredictiveDistribution.from_points(rng.normal(size=(4, 500)))
    actual = accuracy_of_distributions.errors(distribution, distribution, rng.normal(size=4))
    assert actual == {name: pytest.approx(0.0, abs=1e-12) for name in accuracy_of_distributions.METRICS}
    shifted = PredictiveDistribution(distribution.values + distribution.std()[:, None], distribution.levels)
    assert accuracy_of_distributions.errors(shifted, distribution, rng.normal(size=4))["mean"] == pytest.approx(1.0)


def test_accuracy_table_has_a_line_for_each_method():
    lines = [
        accuracy_of_distributions.Line(
            "r", "distribution, 5 points", dict.fromkeys(accuracy_of_distributions.METRICS, 0.5), 2.0
        )
    ]
    text = accuracy_of_distributions.table(lines, argparse.Namespace(rows=1, reference=10, trees=5))
    assert "| r | distribution, 5 points | 0.5000 | 0.5000 | 0.5000 | 0.5000 | 2.00 |" in text
