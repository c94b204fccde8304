"""The demonstration behind ``make demo``: two embedded tables, predicted, scored and drawn in about a minute."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
from scipy.stats import norm
from scipy.stats import t as student
from sklearn.datasets import load_diabetes
from sklearn.model_selection import cross_val_predict, train_test_split

from diffgbm import metrics
from diffgbm._util.errors import WeakFitWarning
from diffgbm._util.optional import need
from diffgbm._util.progress import StatusLine
from diffgbm._util.types import Array
from diffgbm.cli.output import without
from diffgbm.distributions import PredictiveDistribution
from diffgbm.estimators.auto import AutoDiffGBM
from diffgbm.estimators.diffgbm import DiffGBM
from diffgbm.fitting.warm import warmup
from diffgbm.reporting import report

UPPER = 0.65
"""Probability of the toy's upper branch."""
AUTO_SECONDS = 20.0
"""Time limit of each automatic fit; on an idle core they need 10 and 16 seconds."""
OURS = ("AutoDiffGBM", "DiffGBM")
PEER: dict[str, Any] = {"n_estimators": 100, "learning_rate": 0.05, "verbose": -1, "random_state": 0, "n_jobs": 1}
"""Arguments of LightGBM in the other models."""


@dataclass(frozen=True)
class Table:
    """A table split for training and testing; ``X`` are frames where pandas is installed, arrays otherwise."""

    name: str
    X: Any
    y: Array
    X_test: Any
    y_test: Array


@dataclass(frozen=True)
class Line:
    """Scores of a model on a table."""

    table: str
    model: str
    crps: float
    skill: float
    coverage_50: float
    coverage_90: float
    fit_seconds: float
    predict_seconds: float
    cut_short: bool = False

    def __str__(self) -> str:
        return (
            f"{self.table:<9} {self.model:<24} {self.crps:>8.4g} {self.skill:>7.3f} {self.coverage_50:>7.1%} "
            f"{self.coverage_90:>7.1%} {self.fit_seconds:>7.1f} {self.predict_seconds:>10.2f}"
        )


HEADER = "table     model                        CRPS   skill  in 50%  in 90%   fit s  predict s"


class ConstantVariance:
    """A LightGBM mean plus a normal error whose variance is the same everywhere."""

    def fit(self, X: Any, y: Array) -> ConstantVariance:
        """Fit the mean; the error's standard deviation is that of out-of-fold residuals."""
        self.mean_ = lgb.LGBMRegressor(**PEER)
        self.std_ = float(np.std(y - cross_val_predict(self.mean_, X, y, cv=5)))
        self.mean_.fit(X, y)
        return self

    def predict_distribution(self, X: Any) -> PredictiveDistribution:
        """Normal distributions, as 200 points each."""
        levels = (np.arange(200) + 0.5) / 200
        mean = np.asarray(self.mean_.predict(X))
        return PredictiveDistribution(mean[:, None] + self.std_ * norm.ppf(levels), levels)


class QuantileLightGBM:
    """One LightGBM model with the pinball loss for each of 19 levels; crossing quantiles are sorted."""

    levels = np.arange(0.05, 0.96, 0.05)

    def fit(self, X: Any, y: Array) -> QuantileLightGBM:
        """Fit the models."""
        self.models_ = [lgb.LGBMRegressor(objective="quantile", alpha=a, **PEER).fit(X, y) for a in self.levels]
        return self

    def predict_distribution(self, X: Any) -> PredictiveDistribution:
        """Distributions through the predicted quantiles."""
        values = np.column_stack([np.asarray(model.predict(X)) for model in self.models_])
        return PredictiveDistribution(np.sort(values, axis=1), self.levels)


MODELS: dict[str, Callable[[], Any]] = {
    "AutoDiffGBM": lambda: AutoDiffGBM(preset="fast", time_limit=AUTO_SECONDS, seed=0, n_jobs=1, verbose=1),
    "quantile LightGBM": QuantileLightGBM,
    "LightGBM, same variance": ConstantVariance,
    "DiffGBM published": lambda: DiffGBM.published(seed=0, n_jobs=1),
    "DiffGBM score+": lambda: DiffGBM.score_plus(seed=0, n_jobs=1),
    "DiffGBM flow": lambda: DiffGBM.flow(seed=0, n_jobs=1),
}
"""All on one thread. LightGBM's threads wait for each other by spinning: beside other work, two threads on such small
tables can take ten times as long as one, and then a time limit ends the search early."""


def branch(x: Array) -> Array:
    """Distance of the toy's two branches from zero."""
    return 0.4 + 1.8 * x**2


def noise_scale(x: Array) -> Array:
    """Scale of the toy's Student noise."""
    return 0.10 + 0.25 * x


def draw_toy(n: int, seed: int) -> tuple[Array, Array]:
    r"""Draw the toy :math:`y = \pm b(x) + s(x)\,T` with ``T`` a Student variable of 3 degrees of freedom."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.0, 1.0, n)
    sign = np.where(rng.uniform(size=n) < UPPER, 1.0, -1.0)
    return x[:, None], sign * branch(x) + noise_scale(x) * rng.standard_t(3, n)


def toy_density(x: float, grid: Array) -> Array:
    """Exact density of the toy at ``x``."""
    location, scale = branch(np.array(x)), noise_scale(np.array(x))
    upper, lower = (student.pdf((grid - sign * location) / scale, 3) / scale for sign in (1.0, -1.0))
    return np.asarray(UPPER * upper + (1.0 - UPPER) * lower)


def tables() -> list[Table]:
    """The embedded tables: scikit-learn's diabetes and the toy."""
    X, y = load_diabetes(return_X_y=True, as_frame=_has_pandas())
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=0)
    return [
        Table("diabetes", X_train, np.asarray(y_train), X_test, np.asarray(y_test)),
        Table("toy", *draw_toy(3000, 0), *draw_toy(1000, 1)),
    ]


def _has_pandas() -> bool:
    try:
        import pandas  # noqa: F401
    except ImportError:
        return False
    return True


def score(table: Table, name: str, model: Any) -> Line:
    """Fit ``model`` on ``table`` and score the predictive distributions of its test rows."""
    started = time.perf_counter()
    model.fit(table.X, table.y)
    fitted = time.perf_counter()
    distribution = model.predict_distribution(table.X_test)
    done = time.perf_counter()
    y = table.y_test
    crps = float(metrics.crps(distribution, y).mean())
    return Line(
        table.name,
        name,
        crps,
        1.0 - crps / float(metrics.climatology_crps(table.y, y).mean()),
        metrics.coverage(distribution, y, 0.5),
        metrics.coverage(distribution, y, 0.9),
        fitted - started,
        done - fitted,
        bool(getattr(model, "cut_short_", False)),
    )


def explanations(lines: list[Line]) -> list[str]:
    """Say in one sentence for each table why some of our models lose, if any does, and what to use instead."""
    sentences = []
    for table in dict.fromkeys(line.table for line in lines):
        here = [line for line in lines if line.table == table]
        peer = min((line for line in here if not line.model.startswith(OURS)), key=lambda line: line.crps)
        worse = [line for line in here if line.model.startswith(OURS) and line.crps > peer.crps]
        if worse:
            best = min(here, key=lambda line: line.crps)
            names = ", ".join(line.model for line in worse)
            if any(line.cut_short for line in worse):
                why = f"AutoDiffGBM had {AUTO_SECONDS:.0f} s here, too few for its search; give it 30 s or more."
            elif best.model == peer.model:
                why = f"this table suits {peer.model} better. Use that there."
            else:
                why = f"a single recipe is not tuned to a table and overfits a small one. Use {best.model} there."
            sentences.append(f"On {table}, {names} {'loses' if len(worse) == 1 else 'lose'} to {peer.model}: {why}")
    return sentences


def picture(model: AutoDiffGBM, file: Path) -> None:
    """Draw the learned toy: density, median and 90% interval on the left, three densities beside the truth."""
    plt = need("matplotlib.pyplot")
    x = np.linspace(0.0, 1.0, 150)
    distribution = _scalar(model, x)
    X, y = draw_toy(1500, 3)
    blue, orange = "#0072B2", "#D55E00"
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.0), width_ratios=[1.35, 1.0], layout="constrained")
    left.scatter(X[:, 0], y, s=4, color="0.55", alpha=0.6, linewidths=0)
    grid = np.linspace(-4.0, 4.5, 171)
    density = np.array([row.smooth_pdf(grid[None, :])[0] for row in distribution])
    left.pcolormesh(x, grid, np.sqrt(density.T), cmap="Blues", shading="gouraud", vmax=1.5, zorder=0)
    for q, style in ((0.05, "--"), (0.5, "-"), (0.95, "--")):
        left.plot(x, distribution.quantile(q), style, color=blue, lw=1.4)
    left.set(xlabel="x", ylabel="y", ylim=(-4.0, 4.5), title="predicted p(y | x): density, median, 90% interval")
    fine = np.linspace(-4.0, 4.5, 400)
    for k, at in enumerate((0.2, 0.6, 0.95)):
        learned = _scalar(model, np.array([at])).smooth_pdf(fine[None, :])[0]
        right.fill_between(fine, 1.5 * k, learned + 1.5 * k, color=blue, alpha=0.35, lw=0)
        right.plot(fine, toy_density(at, fine) + 1.5 * k, color=orange, lw=1.6)
        right.text(-3.9, 1.5 * k + 0.15, f"x = {at}", fontsize=10)
    right.plot([], [], color=orange, label="truth")
    right.fill_between([], [], color=blue, alpha=0.35, label="predicted")
    right.set(xlabel="y", yticks=[], title="two branches, heavy tails", xlim=(-4.0, 4.5), ylim=(0.0, 5.6))
    right.legend(frameon=False, loc="upper center", ncols=2)
    figure.savefig(file, dpi=140)
    plt.close(figure)


def _scalar(model: AutoDiffGBM, x: Array) -> PredictiveDistribution:
    distribution = model.predict_distribution(x[:, None])
    assert isinstance(distribution, PredictiveDistribution)
    return distribution


def preview(model: AutoDiffGBM, table: Table, rows: int = 5) -> str:
    """Show the first rows of a table of predictions: mean, ends of the 90% interval, and what was observed."""
    X = table.X_test[:rows]
    columns = {
        "mean": np.asarray(model.predict(X)),
        "lower": np.asarray(model.predict_interval(X, coverage=0.9))[:, 0],
        "upper": np.asarray(model.predict_interval(X, coverage=0.9))[:, 1],
        "observed": table.y_test[:rows],
    }
    lines = ["".join(f"{name:>10}" for name in columns)]
    lines += ["".join(f"{column[i]:>10.1f}" for column in columns.values()) for i in range(len(X))]
    return "\n".join(lines)


def main(file: str = "demo.png") -> None:
    """Run the demonstration; save its picture to ``file`` and a report beside it."""
    started = time.perf_counter()
    print("DiffGBM predicts the whole distribution of y for each row. Two embedded tables, six models:\n")
    warmup(joint=False)  # announces itself if it compiles
    compiling = time.perf_counter() - started
    print(f"{f'(compiled kernels in {compiling:.0f} s, once on this machine)' if compiling > 4 else ''}\n{HEADER}")
    lines, automatic = [], {}
    for table in tables():
        for name, make in MODELS.items():
            model = make()
            # the sentences below the table say where a single recipe learns too little, and what to use instead
            with without(WeakFitWarning), StatusLine(table.name, not isinstance(model, AutoDiffGBM)) as status:
                status.stage(f"fitting {name}")
                lines.append(score(table, name, model))
            print(lines[-1], flush=True)
            if isinstance(model, AutoDiffGBM):
                automatic[table.name] = (model, table)
        print()
    print("CRPS: lower is better. Skill: 1 is perfect, 0 is the training responses. 50% and 90%: nominal coverage.")
    print("\n".join(explanations(lines)))
    model, table = automatic["diabetes"]
    print(f"\nWhat AutoDiffGBM did on diabetes: {model.explain()}")
    print(f"\nWhat you get (diabetes, first test rows, 90% interval):\n{preview(model, table)}\n")
    page = Path(file).with_suffix(".html")
    with StatusLine("demo", 1) as status:
        status.stage("writing the report and the picture")
        title, y_train = "Diabetes progression", table.y
        report(model, table.X_test, table.y_test, page, y_train=y_train, title=title, importance_rows=100)
        picture(automatic["toy"][0], Path(file))
    print(f"Picture: {file}. Report: open {page} in a browser (python -m webbrowser {page}).")
    print(f"This took {time.perf_counter() - started:.0f} s.")


if __name__ == "__main__":
    main(*sys.argv[1:2])
