"""What a single fit says while it runs."""

import io
import sys

import numpy as np

from diffgbm import DiffGBM
from diffgbm.fitting.fit_progress import FitProgress


class Line:
    """Collects what is said."""

    def __init__(self):
        self.stages, self.details = [], []

    def stage(self, text):
        self.stages.append(text)

    def detail(self, text):
        self.details.append(text)


def test_rounds_are_said_in_words():
    line = Line()
    progress = FitProgress(line, 2, 2, 3000, 50)
    progress.first_stage_fit()
    progress.first_stage_fit()
    for loss in (0.5, 0.25, None, 0.4):
        progress.tick(loss)
    end = "ends after 50 rounds without improvement, or at 3000"
    assert line.stages == [
        "fitting first-stage models (1 of 2 fits done)",
        f"boosting for model 1 of 2: round 1, validation loss 0.5; {end}",
        f"boosting for model 2 of 2: round 1, validation loss 0.4; {end}",
    ]
    assert line.details[-1] == f"boosting for model 1 of 2: round 2, validation loss 0.25; {end}"


def test_without_early_stopping_the_rounds_are_known():
    line = Line()
    FitProgress(line, 0, 1, 100, None).tick(float("nan"))
    assert line.stages == ["boosting: round 1 of 100"]


def test_a_fit_says_what_it_does(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    X = np.linspace(0.0, 1.0, 80)[:, None]
    DiffGBM.flow(n_estimators=3, seed=0, n_jobs=1, verbose=2).fit(X, X[:, 0])
    first, second = stream.getvalue().splitlines()
    assert first.startswith("fit: fitting first-stage models (1 of ")
    assert second.startswith("fit: boosting: round 1, validation loss ")
