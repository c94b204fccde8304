"""Out-of-bag distributions: predictive distributions of training rows from models that have not seen them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from diffgbm._util.types import Array, Booleans, Integers, Rows
from diffgbm.data.division import NOT_DIVIDED, Division
from diffgbm.data.records import Records
from diffgbm.data.splits import bags_by_rows
from diffgbm.diffusion.sampler import Sampler
from diffgbm.distributions import Distribution
from diffgbm.first_stage import FirstStageValues
from diffgbm.fitting.atoms import AtomFit
from diffgbm.fitting.model import FittedModel

OOB_POINTS = 100
"""Points of an out-of-bag distribution: 800 bytes a row."""


@dataclass(frozen=True)
class Training:
    """The training rows after fitting.

    Attributes
    ----------
    X : ndarray of shape (n, p)
        Encoded rows of positive weight.
    stage_values : FirstStageValues
        Out-of-fold values of the first-stage models.
    held_out : tuple of ndarray of int
        The rows that each bag has not learned from.
    repetition : Records
        How the rows repeat.
    copies : ndarray of shape (m,) or None
        For each of the user's ``m`` rows of positive weight its row in ``X``.
    whole : ndarray of shape (n', p)
        The rows together with those at atoms.
    atom_fit : AtomFit or None
        Atoms; ``X`` are the rows of the continuous part then.
    division : Division
        How rows were divided, in words.
    order : ndarray of shape (n',) or None
        Ranks of the times of ``whole``.
    joint_fits : tuple of AtomFit or None
        Atoms of each of several responses; empty if none has any.
    """

    X: Array
    stage_values: FirstStageValues
    held_out: tuple[Rows, ...]
    repetition: Records
    copies: Rows | None
    whole: Array
    atom_fit: AtomFit | None = None
    division: Division = NOT_DIVIDED
    order: Integers | None = None
    joint_fits: tuple[AtomFit | None, ...] = ()

    @property
    def judged(self) -> Booleans:
        """Whether each row of ``whole`` has an out-of-bag distribution: all rows, or by time the last ones.

        Rows at atoms are in no bag.
        """
        held_out = np.zeros(len(self.X), dtype=bool)
        held_out[np.concatenate(self.held_out)] = True
        if self.atom_fit is None:
            return held_out
        everywhere = np.ones(len(self.whole), dtype=bool)
        if self.order is not None:
            everywhere = self.order >= self.order[self.atom_fit.rest[held_out]].min()
        everywhere[self.atom_fit.rest] = held_out
        return everywhere

    @property
    def rows(self) -> Rows:
        """Rows that have an out-of-bag distribution, as positions among the user's rows of positive weight."""
        return np.flatnonzero(self.judged if self.copies is None else self.judged[self.copies])


def out_of_bag_distributions(model: FittedModel, training: Training, sampler: Sampler, threads: int) -> Distribution:
    """Predictive distributions of the rows ``training.rows``, each from the bags that have not seen it.

    Parameters
    ----------
    model : FittedModel
        The model with all its bags.
    training : Training
        What it was trained on.
    sampler : Sampler
        The sampler.
    threads : int
        Threads.
    """
    points = np.full((len(training.X), OOB_POINTS, model.n_responses), np.nan)
    for together in bags_by_rows(training.held_out):
        rows = training.held_out[together[0]]
        alone = replace(model, bags=tuple(model.bags[b] for b in together))
        stage_values = training.stage_values[rows]
        points[rows] = alone.points(training.X[rows], sampler, OOB_POINTS, threads, stage_values=stage_values)
    points = model.confined(points, [None if fit is None else fit.out_of_fold for fit in training.joint_fits])
    if training.atom_fit is not None:
        points = _with_atoms(model, training, training.atom_fit, points, sampler, threads)
    points = points if training.copies is None else points[training.copies]
    rows = training.rows
    return model.distributions_of(points if len(rows) == len(points) else points[rows])


def _with_atoms(
    model: FittedModel, training: Training, fit: AtomFit, points: Array, sampler: Sampler, threads: int
) -> Array:
    """Mix out-of-bag points of the continuous part with the atoms; no bag has seen the rows at atoms."""
    everywhere = np.full((len(training.whole), OOB_POINTS), np.nan)
    judged = training.judged
    others = np.setdiff1d(np.flatnonzero(judged), fit.rest)
    everywhere[fit.rest] = points[:, :, 0]
    everywhere[others] = model.confined(model.points(training.whole[others], sampler, OOB_POINTS, threads))[:, :, 0]
    everywhere[judged] = fit.atoms.mixed(everywhere[judged], fit.out_of_fold[judged])
    return everywhere[:, :, None]
