"""
How the engine works: a forest becomes a table
==============================================

Sampling evaluates the same forest for the same row ``n_samples x n_steps`` times; only the state ``y`` and the time
change. For one row every split on ``x`` is already decided, so each tree is a step function of (time, y), and the
whole forest a table ``F[k, bin(y)]``. This page makes that table with the engine's own functions and checks it
against LightGBM.
"""

import matplotlib.pyplot as plt
import numpy as np
from numba import njit

from diffgbm import DiffGBM
from diffgbm.engine import Draws, normals
from diffgbm.engine._scalar_kernels import accumulate, scatter
from diffgbm.engine._walk_kernels import answer, block_mask, walk_hits
from diffgbm.engine.conditions import n_questions

rng = np.random.default_rng(0)
x = rng.uniform(0.0, 1.0, 3000)
y = np.where(rng.uniform(size=3000) < 0.6, 1.0, -1.0) * (0.3 + 1.5 * x) + 0.15 * rng.standard_normal(3000)
model = DiffGBM.flow(residualize="off", n_estimators=150, min_child_samples=100, n_steps=24, n_jobs=1, seed=0)
model.fit(x[:, None], y)

# %%
# The sampler is 24 Heun steps between 25 knots, reduced to a table of coefficients. The forest is pruned for these
# knots once; conditions on ``x`` remain.

steps = model.recipe_.steps(model.recipe_.sampler)
field = model.model_.engine.fields[0].prepare(steps)
pruned, edges = field.pruned, field.pruned.edges[0]
questions = n_questions(pruned.conditions)
print(f"{len(pruned.roots)} trees with {len(pruned.value):,} boxes; {questions} different conditions on x")

# %%
# Evaluate the conditions for one row, list the leaves that it can reach, and add each leaf to the four corners of its
# box; running sums along both axes turn the corners into the table.

# these functions are parts of larger kernels, and are compiled alone only here
answer, walk_hits, scatter, accumulate = map(njit, (answer, walk_hits, scatter, accumulate))
row = np.array([[0.7]])
masks = np.empty(questions, np.uint64)
hits, counts = np.empty((1, pruned.reach), np.int32), np.empty(1, np.int64)
answer(pruned.conditions, row, 0, 1, masks)
walk_hits(pruned.nodes, pruned.roots, masks, block_mask(1), hits, counts)
leaves = hits[0, : counts[0]]


def collapse(chosen):
    """Table (knots, bins of y) of the chosen leaves."""
    width = len(edges) + 2
    table = np.zeros((pruned.n_cells + 1, width))
    scatter(field.leaves, chosen, np.uint64(width), table.reshape(-1))
    accumulate(table, pruned.n_cells)
    return table[pruned.knot_cell, : len(edges) + 1]


F = collapse(leaves)
print(f"the row reaches {len(leaves):,} boxes; its table has {F.shape[0]} knots x {F.shape[1]} bins")

# %%
# Nothing is approximated. At random states and knots, the table against ``Booster.predict``:

knots = rng.integers(0, len(F), 2000)
states = rng.normal(0.0, 1.2, 2000)
features = np.column_stack([steps.scale[knots] * states, np.repeat(row, 2000, axis=0), steps.columns[knots]])
by_lightgbm = model.boosters_[0].predict(features)
by_table = F[knots, np.searchsorted(edges, features[:, 0])]
print(f"largest difference from LightGBM: {np.abs(by_table - by_lightgbm).max():.1e}")

# %%
# What it looks like: the boxes of one tree, the table of all of them, and 60 samples that move over it from noise to
# data. A step of a sample is a look-up in this table, a multiplication and an addition.

one_tree = leaves[pruned.leaf_tree[leaves] == pruned.leaf_tree[leaves][0]]
shown = (edges > -2.6) & (edges < 2.6)
ends = np.concatenate([[-2.6], edges[shown], [2.6]])
bins = np.flatnonzero(shown)
bins = np.arange(bins[0], bins[-1] + 2)

state = normals(1, 0, np.arange(60), 0, 1)[0, :, 0] * steps.start
paths = [state]
for k in range(steps.n_steps):
    drift = [steps.linear[k] * state + steps.gain[k] * F[k, np.searchsorted(edges, steps.scale[k] * state)]]
    ahead = state + steps.size[k] * drift[0]
    w = steps.corrector[k]
    if w:
        drift.append(
            steps.linear[k + 1] * ahead
            + steps.gain[k + 1] * F[k + 1, np.searchsorted(edges, steps.scale[k + 1] * ahead)]
        )
        ahead = state + steps.size[k] * ((1 - w) * drift[0] + w * drift[1])
    state = ahead
    paths.append(state)

figure, panels = plt.subplots(1, 3, figsize=(12.5, 4.3), sharey=True, layout="constrained")
knot_ends = np.arange(len(F) + 1) - 0.5
for ax, table, title in (
    (panels[0], collapse(one_tree), f"one tree: {len(one_tree)} boxes"),
    (panels[1], F, f"all {len(pruned.roots)} trees: the table F[k, bin(y)]"),
    (panels[2], F, "60 samples, from noise to data"),
):
    limit = np.abs(table[:, bins]).max() * (1.0 if ax is not panels[2] else 1.8)
    mesh = ax.pcolormesh(knot_ends, ends, table[:, bins].T, cmap="PuOr_r", vmin=-limit, vmax=limit, rasterized=True)
    ax.set(title=title, xlabel="knot k (0 is noise, 24 is data)", ylim=(-2.6, 2.6))
panels[2].plot(np.arange(len(paths)), np.array(paths), color="#222222", lw=0.8, alpha=0.8)
panels[0].set_ylabel("y (standardised)")
figure.colorbar(mesh, ax=panels, label="F", shrink=0.85, ticks=[0])

# %%
# The loop above is the engine's arithmetic in plain numpy. The library gives the same samples:

theirs = model.model_.engine.prepare(steps)(row, Draws(60, key=1))[0, :, 0]
print(f"largest difference from the engine's samples: {np.abs(theirs - paths[-1]).max():.1e}")
