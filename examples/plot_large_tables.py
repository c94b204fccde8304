"""
Tables larger than memory
=========================

Predictions of a row depend on nothing else in the table, and samples on nothing but the seed and the row's position.
So a table can be predicted in pieces, in any number of processes, and the result is that of the whole table, to the
last bit.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from diffgbm import DiffGBM

rng = np.random.default_rng(0)
ROWS, PIECE = 24_000, 6_000


def spread(x):
    """Standard deviation of the response: a ring of uncertainty around (0.5, 0.5)."""
    radius = np.hypot(x[:, 0] - 0.5, x[:, 1] - 0.5)
    return 0.3 + np.exp(-(((radius - 0.3) / 0.08) ** 2))


# %%
# A table on disk, single precision, written piece by piece. Training draws some thousand rows of it: a memory map
# reads only those.

folder = tempfile.TemporaryDirectory()
file = Path(folder.name) / "rows.npy"
table = np.lib.format.open_memmap(file, mode="w+", dtype=np.float32, shape=(ROWS, 3))
for first in range(0, ROWS, PIECE):
    x = rng.uniform(size=(PIECE, 2))
    table[first : first + PIECE] = np.column_stack([x, 3 * x[:, 0] + spread(x) * rng.standard_normal(PIECE)])
table.flush()

table = np.load(file, mmap_mode="r")
chosen = np.sort(rng.choice(ROWS, 6000, replace=False))
model = DiffGBM(residualize="off", n_repeats=10, n_estimators=200, min_child_samples=100, n_jobs=1, seed=0)
model.fit(table[chosen, :2], table[chosen, 2])

# %%
# Prediction in pieces, into a result that could be a memory map as well. ``first_row`` tells ``sample`` where a piece
# lies, so that pieces get the samples that the whole table would.

width = np.empty(ROWS, dtype=np.float32)
for first in range(0, ROWS, PIECE):
    lower, upper = model.predict_interval(table[first : first + PIECE, :2], coverage=0.9).T
    width[first : first + PIECE] = upper - lower

head = table[:300, :2]
whole = model.sample(head, n_samples=50, seed=7)
pieces = [model.sample(head[i : i + 100], n_samples=50, seed=7, first_row=i) for i in (0, 100, 200)]
print("samples in pieces are those of the whole:", bool((np.concatenate(pieces, axis=1) == whole).all()))
print(
    f"{ROWS:,} rows, {PIECE:,} at a time; rows {table.nbytes / 1e6:.1f} MB on disk, widths {width.nbytes / 1e6:.2f} MB"
)

# %%
# The width of the 90% interval over the plane, beside the truth (3.29 standard deviations). The ring is learned from
# 6,000 rows whose responses show it only as noise; its corners are the trees', which split on one column at a time.

figure, panels = plt.subplots(1, 2, figsize=(9.5, 4.2), sharex=True, sharey=True, layout="constrained")
edges = np.linspace(0, 1, 51)
middle = 0.5 * (edges[1:] + edges[:-1])
total, count = (np.histogram2d(*np.asarray(table[:, :2]).T, (edges, edges), weights=w)[0] for w in (width, None))
grid = np.stack(np.meshgrid(middle, middle, indexing="ij"), axis=-1).reshape(-1, 2)
shown = {"vmin": 0.0, "vmax": 4.5, "cmap": "magma"}
mesh = panels[0].pcolormesh(edges, edges, (total / count).T, **shown)
panels[1].pcolormesh(edges, edges, 3.29 * spread(grid).reshape(50, 50).T, **shown)
panels[0].set(
    title=f"predicted, mean of {ROWS:,} rows in 50 x 50 cells",
    xlabel="x1",
    ylabel="x2",
    aspect="equal",
    xlim=(0, 1),
    ylim=(0, 1),
)
panels[1].set(title="truth", xlabel="x1", aspect="equal")
figure.colorbar(mesh, ax=panels, label="width of the 90% interval", shrink=0.9)
ratio = width / (3.29 * spread(np.asarray(table[:, :2], dtype=np.float64)))
print(
    f"predicted over true width, 10% to 90% of the rows: {np.quantile(ratio, 0.1):.2f} to {np.quantile(ratio, 0.9):.2f}"
)
folder.cleanup()

# %%
# On the command line none of this is needed: ``diffgbm predict model.dgbm rows.parquet --interval 0.9 -o
# out.parquet`` reads, predicts and writes files of any size in pieces.
