"""
Tables larger than memory
=========================

The prediction of a row does not depend on the other rows, and a sample depends only on the seed and the row's
position. So you can predict a table in pieces, in any number of processes, and get the result for the whole table, to
the last bit.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import diffgbm
from diffgbm import DiffGBM

rng = np.random.default_rng(0)
ROWS, PIECE = 24_000, 4_000


def std(x):
    """Standard deviation of the response: a ring of uncertainty around (0.5, 0.5)."""
    radius = np.hypot(x[:, 0] - 0.5, x[:, 1] - 0.5)
    return 0.3 + np.exp(-(((radius - 0.3) / 0.08) ** 2))


# %%
# A table on disk, in single precision, written piece by piece. A memory map loads only the parts that are used.

folder = tempfile.TemporaryDirectory()
file = Path(folder.name) / "rows.npy"
table = np.lib.format.open_memmap(file, mode="w+", dtype=np.float32, shape=(ROWS, 2))
y = np.empty(ROWS, dtype=np.float32)
for first in range(0, ROWS, PIECE):
    x = rng.uniform(size=(PIECE, 2))
    table[first : first + PIECE] = x
    y[first : first + PIECE] = 3 * x[:, 0] + std(x) * rng.standard_normal(PIECE)
table.flush()
X = np.load(file, mmap_mode="r")

# %%
# On large tables a few noisy copies of each row are enough:

model = DiffGBM(residualize="off", n_repeats=3, n_estimators=200, min_child_samples=100, n_jobs=1, seed=0).fit(X, y)

# %%
# ``diffgbm.stream`` yields any prediction block after block. It also takes a file on disk or an iterator of frames.

width = np.concatenate([ends[:, 1] - ends[:, 0] for ends in diffgbm.stream(model, X, "predict_interval", rows=PIECE)])
print(f"{len(width):,} intervals, {PIECE:,} rows at a time")

whole = model.sample(X[:1000], n_samples=20, seed=7)
pieces = list(diffgbm.stream(model, X[:1000], "sample", rows=300, n_samples=20, seed=7))
print([piece.shape for piece in pieces], "the same samples:", bool((np.concatenate(pieces, axis=1) == whole).all()))

# %%
# The width of the 90% interval over the plane, beside the truth (3.29 standard deviations). Responses show the ring
# only as noise. The learned ring has corners because trees split on one column at a time.

figure, panels = plt.subplots(1, 2, figsize=(9.5, 4.2), sharex=True, sharey=True, layout="constrained")
edges = np.linspace(0, 1, 51)
middle = 0.5 * (edges[1:] + edges[:-1])
total, count = (np.histogram2d(*np.asarray(X).T, (edges, edges), weights=w)[0] for w in (width, None))
grid = np.stack(np.meshgrid(middle, middle, indexing="ij"), axis=-1).reshape(-1, 2)
shown = {"vmin": 0.0, "vmax": 4.5, "cmap": "magma"}
mesh = panels[0].pcolormesh(edges, edges, (total / count).T, **shown)
panels[1].pcolormesh(edges, edges, 3.29 * std(grid).reshape(50, 50).T, **shown)
panels[0].set(title=f"predicted, mean of {ROWS:,} rows in 50 x 50 cells", xlabel="x1", ylabel="x2", aspect="equal")
panels[1].set(title="truth", xlabel="x1", aspect="equal")
figure.colorbar(mesh, ax=panels, label="width of the 90% interval", shrink=0.9)
ratio = np.quantile(width / (3.29 * std(np.asarray(X, dtype=np.float64))), [0.1, 0.5, 0.9])
print("predicted over true width: 10%% of the rows below %.2f, half below %.2f, 90%% below %.2f" % tuple(ratio))
folder.cleanup()

# %%
# On the command line ``diffgbm predict model.dgbm rows.parquet --interval 0.9 -o out.parquet`` reads, predicts and
# writes files of any size in pieces; ``diffgbm.from_parquet`` reads them for training.
