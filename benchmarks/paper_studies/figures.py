"""The figures of studies: sampler cost, toy geometry, and those that show the two propositions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.paper_studies.pages import Finished
from benchmarks.paper_studies.results import Results
from diffgbm._util.optional import need

FORMATS = ("png", "pdf")
STYLES = (
    ("#000000", "s", "-"),
    ("#0072B2", "o", "-"),
    ("#D55E00", "D", "-"),
    ("#009E73", "^", "--"),
    ("#CC79A7", "v", "--"),
    ("#E69F00", "<", ":"),
    ("#56B4E9", "P", ":"),
    ("#666666", "X", "-."),
)
"""Colour, marker and line: each alone tells curves apart."""


def write(done: Finished, directory: Path) -> list[Path]:
    """Draw a study's figure, if it has one and there are lines; return the files."""
    if done.study.figure is None or not done.lines:
        return []
    figure = DRAW[done.study.figure](done)
    paths = [directory / f"{done.study.name}.{ending}" for ending in FORMATS]
    for path in paths:
        metadata = {"CreationDate": None} if path.suffix == ".pdf" else {"Software": None}
        figure.savefig(path, dpi=130, metadata=metadata)
    need("matplotlib.pyplot").close(figure)
    return paths


def _panels(n: int, width: float = 4.2) -> tuple[Any, Any]:
    figure, axes = need("matplotlib.pyplot").subplots(1, n, figsize=(width * n, 3.9), layout="constrained")
    for ax in np.atleast_1d(axes):
        ax.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _sampler_cost(done: Finished) -> Any:
    """Draw error against sampling time, a curve for each model and equation; labels are steps."""
    results, study = done.results, done.study
    series: dict[str, list[Any]] = {}
    for arm in study.arms:
        series.setdefault(arm.series, []).append(arm)
    measures = (("rel_crps", "CRPS / best of the data set"), ("coverage_error_95", "|coverage error| at 95%"))
    figure, axes = _panels(2, 5.2)
    for ax, (measure, label) in zip(axes, measures, strict=True):
        for (colour, marker, line), (name, arms) in zip(STYLES, series.items(), strict=False):
            x = [results.mean(arm.name, "sample_seconds") for arm in arms]
            y = [results.mean(arm.name, measure) for arm in arms]
            ax.plot(x, y, line, color=colour, marker=marker, ms=5, label=name)
            for arm, right, up in zip(arms, x, y, strict=True):
                steps = str(arm.sampler.get("n_steps", ""))
                ax.annotate(steps, (right, up), (3, 3), textcoords="offset points", fontsize=7, color=colour)
        ax.set(xscale="log", yscale="log", xlabel="processor seconds to sample a fold", ylabel=label)
    axes[0].legend(fontsize=7, frameon=False)
    return figure


def _toy_geometry(done: Finished) -> Any:
    results = done.results
    figure, axes = _panels(3)
    panels = (
        ("t", "target_sd", "(a) standard deviation of the target"),
        ("t", "feature_sd", "(b) standard deviation of the feature"),
        ("fit_t", "fit_errors", "(c) LightGBM's error at fixed t / target's sd"),
    )
    for ax, (x, y, title) in zip(axes, panels, strict=True):
        _curves(ax, done, results, x, y)
        ax.set(yscale="log", xlabel="t", title=title)
    axes[0].legend(fontsize=7, frameon=False)
    return figure


def _curves(ax: Any, done: Finished, results: Results, x: str, y: str) -> None:
    for place, ((colour, marker, line), arm) in enumerate(zip(STYLES, done.study.arms, strict=False)):
        right, up = results.curve(arm.name, x), results.mean_curve(arm.name, y)
        every = max(1, len(right) // 8)
        # markers are set off against each other, so that curves that coincide are all seen
        ax.plot(
            right,
            up,
            line,
            color=colour,
            marker=marker,
            ms=5,
            markevery=(place % every, every) if every > 1 else 1,
            label=arm.label,
        )


def _histogram_bins(done: Finished) -> Any:
    results = done.results
    figure, axes = _panels(2, 5.0)
    _curves(axes[0], done, results, "bins", "errors")
    axes[0].set(xscale="log", yscale="log", xlabel="bins B", ylabel="mean error of the best step function")
    first = done.study.arms[-1].name
    b = np.array(results.curve(first, "bins"), dtype=float)
    if len(b):
        axes[0].plot(b, results.mean_curve(first, "errors")[0] * (b[0] / b) ** 2, color="0.8", lw=3, zorder=0)
    _curves(axes[1], done, results, "times", "error_by_time")
    axes[1].set(yscale="log", xlabel="t", ylabel="error with 255 pooled bins")
    axes[0].legend(fontsize=7, frameon=False, title="grey: slope -2", title_fontsize=7)
    return figure


def _endpoint_gain(done: Finished) -> Any:
    results = done.results
    figure, axes = _panels(2, 5.0)
    _curves(axes[0], done, results, "t", "gain")
    for arm in done.study.arms:
        axes[0].plot(results.curve(arm.name, "t"), results.curve(arm.name, "formula"), color="0.8", lw=4, zorder=0)
    axes[0].set(xscale="log", yscale="log", xlabel="t", ylabel="score error / velocity error")
    axes[0].legend(fontsize=7, frameon=False, title="grey: the formula", title_fontsize=7)
    _curves(axes[1], done, results, "t", "score_error")
    axes[1].set(xscale="log", yscale="log", xlabel="t", ylabel="rms error of the recovered score")
    return figure


DRAW: dict[str, Callable[[Finished], Any]] = {
    "sampler_cost": _sampler_cost,
    "toy_geometry": _toy_geometry,
    "histogram_bins": _histogram_bins,
    "endpoint_gain": _endpoint_gain,
}
"""The figures by the name that a study gives."""
