r"""How the times and the noise of the copies of a row are placed: independently, or evenly.

Copy ``r`` of row ``i`` has a time and a noise that are functions of a point of the unit cube, one coordinate for the
time and one for each of ``d`` responses. Independent points are the paper's. Even points are those of a lattice of
``R`` points, moved by a random shift of the row's own:

.. math:: u_{irj} = \Bigl(\frac{r\, g_j \bmod R}{R} + s_{ij}\Bigr) \bmod 1, \qquad s_{ij} \sim U(0, 1), \qquad
          t_{ir} = F^{-1}(u_{ir0}), \qquad z_{irj} = \Phi^{-1}(u_{irj}).

Each copy by itself has exactly the distribution of an independent one, the share of times at an endpoint included;
only the copies of the same row know of each other. Each of ``R`` equally probable ranges holds one of their times, and
one value of each noise. A shift is a hash of the seed and of the row's position, so that the copies of a row do not
depend on the other rows: a table in memory, on disk or in partitions has the same ones.

References
----------
Cranley, R. and Patterson, T. N. L. (1976). Randomization of number theoretic methods for multiple integration. SIAM
Journal on Numerical Analysis 13(6), 904-914.

Sloan, I. H. and Reztsov, A. V. (2002). Component-by-component construction of good lattice rules. Mathematics of
Computation 71(237), 263-273.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from diffgbm._util.errors import check_count
from diffgbm._util.types import Array, Integers, Rows
from diffgbm.data.hashing import Bits, position_bits
from diffgbm.diffusion.recipe import Recipe

NOISY_ROWS, MOST_NOISY_ROWS = 150_000, 3_000_000
"""Noisy rows of ``n_repeats="auto"``: those of 5,000 rows with thirty copies, and those of a large table."""
FEWEST, MOST = (2, 8), 512
"""Copies of each row that ``n_repeats="auto"`` makes at least, of a large and of any other table, and at most."""
_GENERATORS = 256
"""Generators of a lattice that are compared, at most."""

Noise = tuple[Array, Array]
"""Times (R m,) and noise (R m, d) of R copies of m rows; row ``i`` of copy ``r`` at position ``r m + i``."""


def _independent(recipe: Recipe, n_repeats: int, positions: Integers, d: int, seed: np.random.SeedSequence) -> Noise:
    rng, n = np.random.default_rng(seed), n_repeats * len(positions)
    return recipe.times.draw(n, recipe.path, rng), rng.standard_normal((n, d))


def _even(recipe: Recipe, n_repeats: int, positions: Integers, d: int, seed: np.random.SeedSequence) -> Noise:
    keys = seed.generate_state(1 + d, np.uint64)
    steps = lattice(n_repeats, 1 + d)
    times = recipe.times.quantile(_uniforms(steps[:, 0], positions, keys[0]), recipe.path)
    noise = np.empty((len(times), d))
    for j in range(d):
        noise[:, j] = ndtri(_uniforms(steps[:, 1 + j], positions, keys[1 + j]))
    return times, noise


class NoiseDesign(NamedTuple):
    """One way to place the copies.

    Attributes
    ----------
    draw : callable
        Function of ``(recipe, n_repeats, positions, d, seed)`` that returns times and noise.
    by_row : bool
        Whether the copies of a row depend on the seed and its position only, and not on the other rows.
    """

    draw: Callable[[Recipe, int, Integers, int, np.random.SeedSequence], Noise]
    by_row: bool


NOISE_DESIGNS: dict[str, NoiseDesign] = {
    "even": NoiseDesign(_even, by_row=True),
    "independent": NoiseDesign(_independent, by_row=False),
}
"""Designs of the noisy copies by name."""


@lru_cache(maxsize=64)
def lattice(n: int, dimension: int) -> Bits:
    r"""Return a lattice of ``n`` points in fractions of :math:`2^{64}`: shape (n, dimension).

    Generators are chosen one after the other, those before them being fixed, to minimise the mean of
    :math:`\prod_j (1 + B_2(r g_j / n \bmod 1))` over the points, with the Bernoulli polynomial
    :math:`B_2(x) = x^2 - x + 1/6`. It is the squared worst-case error, plus one, of randomly shifted lattices in
    functions with square-integrable mixed derivatives.
    """
    points = np.arange(n)
    # n - g mirrors g
    allowed = np.array([g for g in range(1, n // 2 + 1) if np.gcd(g, n) == 1] or [1])
    allowed = allowed[np.unique(np.linspace(0, len(allowed) - 1, min(_GENERATORS, len(allowed))).astype(int))]
    kernel = np.ones(n)
    chosen = np.empty((n, dimension), dtype=np.int64)
    for j in range(dimension):
        errors = [np.mean(kernel * _factor(points * g % n, n)) for g in allowed]
        chosen[:, j] = points * allowed[int(np.argmin(errors))] % n
        kernel *= _factor(chosen[:, j], n)
    found = chosen.astype(np.uint64) * np.uint64(2**64 // n if n > 1 else 0)
    found.setflags(write=False)
    return found


def _factor(positions: Rows, n: int) -> Array:
    x = positions / n
    return 1.0 + x * x - x + 1.0 / 6.0


def _uniforms(steps: Bits, positions: Integers, key: np.uint64) -> Array:
    """Return one coordinate of all copies, in (0, 1): shape (R m,)."""
    shift = position_bits(positions, int(key))
    values = np.empty(len(steps) * len(shift))
    for r, step in enumerate(steps):
        # modulo 2^64, as unsigned integers are added; half a unit keeps 0 and 1 out
        bits = (shift + step) >> np.uint64(12)
        values[r * len(shift) : (r + 1) * len(shift)] = (bits.astype(np.float64) + 0.5) * 2.0**-52
    return values


def copies(n_repeats: int | str, n_rows: int) -> int:
    """Return the copies of each of ``n_rows`` rows: ``"auto"`` makes ``NOISY_ROWS`` noisy rows, within limits."""
    if isinstance(n_repeats, str):
        return int(np.clip(NOISY_ROWS // n_rows, np.clip(MOST_NOISY_ROWS // n_rows, *FEWEST), MOST))
    return n_repeats


def check_copies(n_repeats: object) -> None:
    """Raise unless ``n_repeats`` is a positive integer or ``"auto"``."""
    if isinstance(n_repeats, str):
        if n_repeats != "auto":
            raise ValueError(f"n_repeats must be an integer >= 1 or 'auto'; got {n_repeats!r}.")
    else:
        check_count("n_repeats", n_repeats, 1)
