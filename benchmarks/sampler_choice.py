"""Other samplers for the same noise models on fold 0: CRPS on out-of-bag rows and on test rows."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.automatic.summary import geometric_mean
from benchmarks.bag_mix import add_arguments, first_folds
from benchmarks.protocol import Fold
from diffgbm import DiffGBM
from diffgbm._util.parallel import n_threads
from diffgbm.auto.sampler_choice import MIN_GAIN, SAMPLERS, lowers
from diffgbm.diffusion.recipe import noise_model_arguments
from diffgbm.diffusion.sampler import Sampler
from diffgbm.fitting.out_of_bag import out_of_bag_distributions
from diffgbm.fitting.training import fit_model

__all__ = ["add_arguments", "run"]

N_POINTS = 377
"""Points of the predictive distributions of test rows."""


@dataclass(frozen=True)
class Line:
    """One sampler compared with the recipe's default sampler, for one noise model.

    Attributes
    ----------
    data_set, model, sampler : str
        Data set, noise model and sampler.
    unseen, test : float
        Ratio of the CRPS to that of the default sampler, on out-of-bag rows and on test rows.
    selected : bool
        Whether `AutoDiffGBM` would select it by the out-of-bag rows.
    """

    data_set: str
    model: str
    sampler: str
    unseen: float
    test: float
    selected: bool


def models(bags: int, threads: int) -> dict[tuple[str, str], DiffGBM]:
    """Return each recipe with and without a mean subtracted, as a mixture of bags."""
    shared = {"seed": 0, "n_jobs": threads, "n_bags": bags, "bag_mix": "mixture"}
    return {
        (recipe, first_stage): DiffGBM(**{**noise_model_arguments(recipe), **shared, "residualize": first_stage})
        for recipe in SAMPLERS
        for first_stage in ("mean", "off")
    }


def measure(data_set: str, recipe: str, first_stage: str, estimator: DiffGBM, fold: Fold) -> list[Line]:
    """Train once and score every sampler."""
    model, training = fit_model(estimator.get_params(deep=False), fold.X_train, fold.y_train, None, None, "DiffGBM")
    y_test = (fold.y_test - fold.response.mean) / fold.response.scale
    threads = n_threads(estimator.n_jobs)

    def scores(sampler: Sampler) -> tuple[np.ndarray, np.ndarray]:
        unseen = out_of_bag_distributions(model, training, sampler, threads).crps(fold.y_train)
        return unseen, model.distribution(fold.X_test, sampler, N_POINTS, threads=threads).crps(y_test)

    default, default_test = scores(model.recipe.sampler)
    lines = []
    for sampler in SAMPLERS[recipe]:
        other, test = scores(sampler)
        ratios = float(other.mean() / default.mean()), float(test.mean() / default_test.mean())
        lines.append(
            Line(data_set, f"{recipe}, {first_stage}", str(sampler), *ratios, lowers(other, default, None, MIN_GAIN))
        )
    return lines


def table(lines: Sequence[Line], bags: int) -> str:
    """Write the result as Markdown."""
    out = [
        "# Other samplers for the same noise models",
        "",
        f"`python -m benchmarks sampler-choice --bags {bags}`: fold 0; ratio of the CRPS to that of the recipe's",
        "default sampler, on out-of-bag rows of the training part and on test rows. A sampler is *selected* if it",
        f"lowers the first by {MIN_GAIN:.0%} and by more than its standard error, as in `AutoDiffGBM`.",
        "",
        "| data set | recipe, subtracted | sampler | out of bag | test | |",
        "|---|---|---|---|---|---|",
        *(
            f"| {x.data_set} | {x.model} | {x.sampler} | {x.unseen:.4f} | {x.test:.4f} "
            f"| {'selected' if x.selected else ''} |"
            for x in lines
        ),
        "",
        *_summary("selected", [x for x in lines if x.selected]),
        *_summary("not selected", [x for x in lines if not x.selected]),
        *_summary("that models would use", selected(lines)),
    ]
    return "\n".join(out) + "\n"


def selected(lines: Sequence[Line]) -> list[Line]:
    """Return the best selected sampler of each model that has one."""
    best: dict[tuple[str, str], Line] = {}
    for line in lines:
        key = (line.data_set, line.model)
        if line.selected and (key not in best or line.unseen < best[key].unseen):
            best[key] = line
    return list(best.values())


def _summary(name: str, lines: Sequence[Line]) -> list[str]:
    if not lines:
        return []
    unseen, test = geometric_mean(x.unseen for x in lines), geometric_mean(x.test for x in lines)
    lower = sum(x.test < 1.0 for x in lines)
    return [
        f"- Geometric means of {len(lines)} {name}: {unseen:.4f} out of bag, {test:.4f} on test rows ({lower} lower)."
    ]


def run(args: argparse.Namespace) -> None:
    """Measure every table and model, and write the page."""
    lines = []
    for name, fold in first_folds(args):
        for (recipe, first_stage), estimator in models(args.bags, args.threads).items():
            lines += measure(name, recipe, first_stage, estimator, fold)
            print(*lines[-len(SAMPLERS[recipe]) :], sep="\n", flush=True)
    path = args.results_dir / "sampler_choice.md"
    path.write_text(table(lines, args.bags), encoding="utf-8")
    print(path)
