"""Arrays as ``.npy`` entries; type, shape and size are checked before the numbers are read."""

from __future__ import annotations

import io
import math
import re
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

Shape = tuple[int | None, ...]
_MAGIC = b"\x93NUMPY\x01\x00"
_START = len(_MAGIC) + 2
_HEADER = re.compile(
    rb"\{'descr': '([<>|=]?[A-Za-z][0-9]{0,3}(?:\[\w+\])?)', 'fortran_order': (False|True), "
    rb"'shape': \(((?:[0-9]{1,19},? ?){0,8})\), \} *\n"
)
"""The header that numpy writes. numpy itself reads headers as Python expressions, which can fail in many ways."""


def to_npy(array: NDArray[Any]) -> bytes:
    """Write an array in C order, little-endian; arrays of objects raise ``ValueError``."""
    buffer = io.BytesIO()
    plain = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    npy.write_array(buffer, plain, version=(1, 0), allow_pickle=False)
    return buffer.getvalue()


def from_npy(content: bytes, dtypes: tuple[str, ...], shape: Shape) -> NDArray[Any]:
    """Read an array of one of ``dtypes`` and of ``shape``, in which ``None`` stands for any length.

    Anything else, and numbers that are not finite, raise ``ValueError``. The array is writable, as kernels expect it.
    """
    if not content.startswith(_MAGIC):
        raise ValueError("it is not an array")
    start = _START + int.from_bytes(content[len(_MAGIC) : _START], "little")
    header = _HEADER.fullmatch(content[_START:start])
    if header is None:
        raise ValueError("it is not an array as numpy writes it")
    lengths = tuple(int(n) for n in header[3].replace(b",", b" ").split())
    fortran, dtype = header[2] == b"True", np.dtype(header[1].decode())
    # checked here because numpy allocates the memory that the header asks for
    if dtype.str not in dtypes or fortran:
        raise ValueError(f"it holds {dtype.str!r} instead of {' or '.join(dtypes)}")
    if len(lengths) != len(shape) or any(n is not None and n != m for n, m in zip(shape, lengths, strict=True)):
        wanted = ", ".join("any" if n is None else str(n) for n in shape)
        raise ValueError(f"its shape is {lengths} instead of ({wanted})")
    if len(content) - start != math.prod(lengths) * dtype.itemsize:
        raise ValueError("its header states another number of values than it holds")
    array = np.frombuffer(content, dtype, offset=start).reshape(lengths).copy()
    if dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError("it holds numbers that are not finite")
    return array
