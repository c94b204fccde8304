"""The demonstration behind ``make demo``: two embedded tables, learned, scored and drawn in a minute."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
from scipy.stats import t as student
from sklearn.datasets import load_diabetes
from sklearn.model_selection import cross_val_predict, train_test_split

from diffgbm import metrics
from diffgbm._util.types import Array
from diffgbm.engine import warmup
from diffgbm.estimators.diffgbm import DiffGBM

UPPER = 0.65
"""Probability of the toy's upper branch."""


@dataclass(frozen=True)
class Table:
    """A table split for training and testing."""

    name: str
    X: Array
    y: Array
    X_test: Array
    y_test: Array


class ConstantVariance:
    """The usual baseline: a LightGBM mean plus a normal error whose variance is the same everywhere."""

    def fit(self, X: Array, y: Array) -> ConstantVariance:
        """Fit the mean; the error's standard deviation is that of out-of-fold residuals."""
        self.mean_ = lgb.LGBMRegressor(n_estimators=100, learning_rate=0.05, verbose=-1, random_state=0)
        self.std_ = float(np.std(y - cross_val_predict(self.mean_, X, y, cv=5)))
        self.mean_.fit(X, y)
        return self

    def sample(self, X: Array, n_samples: int, seed: int) -> Array:
        """Draw samples (n_samples, n)."""
        noise = np.random.default_rng(seed).standard_normal((n_samples, len(X)))
        return np.asarray(self.mean_.predict(X)) + self.std_ * noise


def branch(x: Array) -> Array:
    """Distance of the toy's two branches from zero."""
    return 0.4 + 1.8 * x**2


def spread(x: Array) -> Array:
    """Scale of the toy's Student noise."""
    return 0.10 + 0.25 * x


def draw_toy(n: int, seed: int) -> tuple[Array, Array]:
    """Draw the two-branch heavy-tailed toy: ``y = +-branch(x) + spread(x) T`` with T Student, 3 degrees."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.0, 1.0, n)
    sign = np.where(rng.uniform(size=n) < UPPER, 1.0, -1.0)
    return x[:, None], sign * branch(x) + spread(x) * rng.standard_t(3, n)


def toy_density(x: float, grid: Array) -> Array:
    """Exact density of the toy at ``x``."""
    location, scale = branch(np.array(x)), spread(np.array(x))
    upper, lower = (student.pdf((grid - sign * location) / scale, 3) / scale for sign in (1.0, -1.0))
    return np.asarray(UPPER * upper + (1.0 - UPPER) * lower)


def tables() -> list[Table]:
    """The embedded tables: scikit-learn's diabetes and the toy."""
    X, y = load_diabetes(return_X_y=True)
    parts = train_test_split(X, y, test_size=0.25, random_state=0)
    return [
        Table("diabetes", parts[0], parts[2], parts[1], parts[3]),
        Table("toy", *draw_toy(3000, 0), *draw_toy(1000, 1)),
    ]


def smooth_model() -> DiffGBM:
    """Score recipe without a mean model, with large leaves: what suits laws with several branches."""
    return DiffGBM(residualize="off", min_child_samples=200, learning_rate=0.05, seed=0)


def score(table: Table, name: str, model: Any, n_samples: int = 500) -> str:
    """Fit, sample and score ``model`` on ``table``: one line of the result."""
    started = time.perf_counter()
    model.fit(table.X, table.y)
    fitted = time.perf_counter()
    samples = model.sample(table.X_test, n_samples, seed=1)
    done = time.perf_counter()
    return (
        f"{table.name:<9} {name:<22} {metrics.crps(samples, table.y_test).mean():>8.4g} "
        f"{metrics.crpss(samples, table.y_test, table.y):>7.3f} {metrics.coverage(samples, table.y_test, 0.5):>7.1%} "
        f"{metrics.coverage(samples, table.y_test, 0.9):>7.1%} {fitted - started:>7.2f} {done - fitted:>9.3f}"
    )


def picture(model: DiffGBM, file: Path) -> None:
    """Draw the learned toy: intervals over x on the left, densities beside the truth on the right."""
    from matplotlib.figure import Figure

    x = np.linspace(0.0, 1.0, 200)
    samples = model.sample(x[:, None], 4000, seed=2)
    X, y = draw_toy(1500, 3)
    blue, orange = "#0072B2", "#D55E00"
    # without pyplot, whose choice of a window or none is the user's
    figure = Figure(figsize=(10.5, 4.0), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1.35, 1.0])
    left.scatter(X[:, 0], y, s=4, color="0.55", alpha=0.6, linewidths=0, label="data")
    grid = np.linspace(-4.0, 4.5, 171)
    counts = np.array([np.histogram(column, grid, density=True)[0] for column in samples.T])
    smooth = np.apply_along_axis(lambda c: np.convolve(c, [0.25, 0.5, 0.25], "same"), 1, counts)
    left.pcolormesh(
        x, 0.5 * (grid[1:] + grid[:-1]), np.sqrt(smooth.T), cmap="Blues", shading="gouraud", vmax=1.5, zorder=0
    )
    for q, style in ((0.05, "--"), (0.5, "-"), (0.95, "--")):
        left.plot(x, np.quantile(samples, q, axis=0), style, color=blue, lw=1.4)
    left.set(xlabel="x", ylabel="y", ylim=(-4.0, 4.5), title="learned p(y | x): density, median and 90% interval")
    fine = np.linspace(-4.0, 4.5, 600)
    for k, at in enumerate((0.2, 0.6, 0.95)):
        learned = model.sample(np.array([[at]]), 20_000, seed=4)[:, 0]
        right.hist(
            learned,
            np.linspace(-4.0, 4.5, 120),
            density=True,
            color=blue,
            alpha=0.35,
            bottom=1.5 * k,
            histtype="stepfilled",
        )
        right.plot(fine, toy_density(at, fine) + 1.5 * k, color=orange, lw=1.6)
        right.text(-3.9, 1.5 * k + 0.15, f"x = {at}", fontsize=10)
    right.plot([], [], color=orange, label="truth")
    right.fill_between([], [], color=blue, alpha=0.35, label="learned")
    right.set(xlabel="y", yticks=[], title="two branches, heavy tails", xlim=(-4.0, 4.5), ylim=(0.0, 5.6))
    right.legend(frameon=False, loc="upper center", ncols=2)
    figure.savefig(file, dpi=140)


def main(file: str = "demo.png") -> None:
    """Run the demonstration and save its picture to ``file``."""
    models: dict[str, Callable[[], Any]] = {
        "LightGBM + normal": ConstantVariance,
        "DiffGBM published": lambda: DiffGBM.published(seed=0),
        "DiffGBM score+": lambda: DiffGBM.score_plus(seed=0),
        "DiffGBM flow": lambda: DiffGBM.flow(seed=0),
        "DiffGBM EDM, no mean": smooth_model,
    }
    print("Learning p(y | x) on two embedded tables.", end=" ", flush=True)
    started = time.perf_counter()
    warmup()
    print(f"(Kernels ready in {time.perf_counter() - started:.1f} s; they are compiled once and kept.)\n")
    print(
        f"{'table':<9} {'model':<22} {'CRPS':>8} {'skill':>7} {'in 50%':>7} {'in 90%':>7} {'fit s':>7} {'sample s':>9}"
    )
    for table in tables():
        for name, make in models.items():
            print(score(table, name, make()), flush=True)
        print()
    X, y = draw_toy(6000, 0)
    picture(smooth_model().fit(X, y), Path(file))
    print("CRPS: lower is better. Skill: 1 is perfect, 0 is the training responses. 50% and 90%: nominal coverage.")
    print(f"Picture saved to {file}.")


if __name__ == "__main__":
    main(*sys.argv[1:2])
