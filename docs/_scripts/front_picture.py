"""Draw the picture on top of the README: what `AutoDiffGBM` predicts with its default preset.

    python docs/_scripts/front_picture.py [docs/_static/front.png]

The table is made up so that the truth is known: the power of a wind turbine that feels a slightly different wind than
the mast that measures it. The interval is narrow in a light wind, wide where the curve is steep, and lopsided near the
plateau. The fit takes some minutes.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from scipy.stats import norm

from diffgbm import AutoDiffGBM
from diffgbm.plotting import fan

mpl.use("Agg")

import matplotlib.pyplot as plt

FILE = Path(__file__).parents[1] / "_static" / "front.png"
BLUE, ORANGE = "#0072B2", "#D55E00"


def power(wind: Any) -> Any:
    """Power in MW at the wind that the turbine feels."""
    return 2.0 / (1.0 + np.exp(-0.9 * (wind - 8.5)))


def measure(n: int, seed: int) -> tuple[Any, Any]:
    """Draw ``n`` rows: wind at the mast in m/s (n, 1) and power in MW (n,)."""
    rng = np.random.default_rng(seed)
    wind = rng.gamma(4.0, 2.1, n)
    return wind[:, None], power(wind + rng.standard_normal(n)) + 0.05 * rng.standard_normal(n)


def true_cdf(wind: float, y: Any) -> Any:
    """Exact distribution function of the power, by quadrature over the wind that the turbine feels."""
    felt = norm.ppf((np.arange(2000) + 0.5) / 2000)
    return norm.cdf((y[:, None] - power(wind + felt)) / 0.05).mean(axis=1)


def main(file: Path = FILE) -> None:
    """Fit and draw."""
    model = AutoDiffGBM(time_limit=1200, seed=0).fit(*measure(12_000, 0))
    print(model.explain())
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.0), width_ratios=[1.5, 1.0], layout="constrained")
    X, y = measure(800, 1)
    wind = np.linspace(1.0, 18.0, 200)
    left.plot(X[:, 0], y, "o", color="0.45", markersize=2.2, markeredgewidth=0, alpha=0.6, label="new rows")
    fan(wind, model.predict_distribution(wind[:, None]), levels=(0.5, 0.9), ax=left)
    left.set(xlabel="wind at the mast, m/s", ylabel="power, MW", xlim=(1, 18), title="median, 50% and 90% interval")

    chosen, grid = np.array([6.0, 8.5, 11.0]), np.linspace(-0.2, 2.9, 400)
    predicted = model.predict_distribution(chosen[:, None]).cdf(grid[None])
    for k, at in enumerate(chosen):
        right.plot(grid, true_cdf(at, grid), color=ORANGE, lw=3.5, alpha=0.55, label="truth" if k == 0 else None)
        right.plot(grid, predicted[k], color=BLUE, lw=1.6, label="predicted" if k == 0 else None)
        right.annotate(
            f"{at:g} m/s", (grid[np.searchsorted(predicted[k], 0.55)], 0.55), (8, -4), textcoords="offset points"
        )
    right.set(
        xlabel="c, MW", ylabel="P(power ≤ c)", xlim=(-0.2, 2.9), ylim=(0, 1.005), title="three rows, beside the truth"
    )
    right.legend(frameon=False, loc="lower right")
    for ax in (left, right):
        ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(file, dpi=140)
    plt.close(figure)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
