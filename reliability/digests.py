"""Digests of samples, quantiles and model files, to check that a refactoring changes no bit.

Each case of ``digest_cases`` fits models with fixed seeds and predicts; every array and every entry of a model file
becomes the SHA-256 of its bytes. On one machine, with one set of libraries, two runs give the same digests. Record them
before a change and compare after it::

    python -m reliability digests --output before.json
    python -m reliability digests --compare before.json

An entry ``manifest.json`` holds names, which may change although no number does. Its bytes are the parts that end in
``manifest`` and its numbers those that end in ``numbers``, so that ``--ignore manifest`` still compares all numbers.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
import traceback
import warnings
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before LightGBM and BLAS are loaded: sums depend on their threads

import numpy as np

import diffgbm
from reliability.digest_cases import CASES, Part

Digests = dict[str, dict[str, str]]
"""Digests by case and part; a case that failed has the single part ``error``."""
SHOWN = 16
"""Digits of a digest that are printed."""


def run(
    only: Sequence[str] | None = None,
    output: str | os.PathLike[str] | None = None,
    compare: str | os.PathLike[str] | None = None,
    ignore: Collection[str] = (),
) -> int:
    """Compute and print the digests.

    Parameters
    ----------
    only : sequence of str, optional
        Names of cases; all if it is left out.
    output : path, optional
        Where the digests are written, as JSON.
    compare : path, optional
        A file that ``output`` wrote; what differs from it is printed at the end.
    ignore : collection of str
        Last words of parts that are not compared, like ``manifest``.

    Returns
    -------
    int
        1 if a case failed or a digest differs, else 0.
    """
    if unknown := sorted(set(only or ()) - set(CASES)):
        raise SystemExit(f"There are no cases {', '.join(unknown)}; there are {', '.join(CASES)}.")
    # read before the cases run: a wrong path must fail at once
    before: Digests | None = None if compare is None else json.loads(Path(compare).read_text())
    print(f"# {Path(diffgbm.__file__).parent}", flush=True)
    started = time.perf_counter()
    result = {name: _digests_of(name) for name in CASES if not only or name in only}
    print(f"# {len(result)} cases, {time.perf_counter() - started:.0f} s")
    if output is not None:
        Path(output).write_text(json.dumps(result, indent=1) + "\n")
    failed = [name for name, parts in result.items() if "error" in parts]
    for name in failed:
        print(f"failed   {name}: {result[name]['error']}")
    if before is None:
        return int(bool(failed))
    compared = before if not only else {name: parts for name, parts in before.items() if name in only}
    # failed cases are reported above: do not list their parts as missing
    whole = {name: parts for name, parts in result.items() if name not in failed}
    lines = differences({name: parts for name, parts in compared.items() if name not in failed}, whole, ignore)
    print("\n".join(lines) if lines else "# no differences")
    return int(bool(failed or lines))


def differences(before: Digests, after: Digests, ignore: Collection[str] = ()) -> list[str]:
    """Return a line for each part that differs, is missing or is new.

    Parameters
    ----------
    before, after : dict
        Digests by case and part.
    ignore : collection of str
        Last words of parts that are not compared.

    Returns
    -------
    list of str
        Kind of difference, case and part.
    """
    old, new = (
        {(name, part): digest for name, parts in digests.items() for part, digest in parts.items()}
        for digests in (before, after)
    )
    lines = []
    for key in [*old, *(key for key in new if key not in old)]:
        if key[1].split()[-1] in ignore or old.get(key) == new.get(key):
            continue
        kind = "missing" if key not in new else "new" if key not in old else "differs"
        lines.append(f"{kind:8} {key[0]}  {key[1]}")
    return lines


def digest(value: Part) -> str:
    """Return the SHA-256 of bytes as they are, or of an array's shape and exact float64 values."""
    if isinstance(value, bytes):
        return hashlib.sha256(value).hexdigest()
    array = np.ascontiguousarray(value, dtype=np.float64)
    return hashlib.sha256(repr(array.shape).encode() + array.tobytes()).hexdigest()


def _digests_of(name: str) -> dict[str, str]:
    """Run one case and print its digests; an error is recorded as a result."""
    started = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parts: Mapping[str, Part] = CASES[name]()
    except Exception as error:
        traceback.print_exc()
        return {"error": f"{type(error).__name__}: {error}"}
    result = {part: digest(value) for part, value in parts.items()}
    for part, value in result.items():
        print(f"{name}  {part}  {value[:SHOWN]}")
    print(f"# {name}: {time.perf_counter() - started:.1f} s", file=sys.stderr, flush=True)
    return result
