"""numba's compiler with types. Importing this module imports numba, so only kernels (``_*_kernels.py``) do."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, event, types
from numba.extending import intrinsic, register_jitable

from diffgbm._util.kernel_cache import add_layers
from diffgbm._util.progress import note

Function = TypeVar("Function", bound=Callable[..., Any])

MESSAGE = "compiling kernels, which takes 10 to 20 seconds; later sessions on this machine load them"


class Announcement(event.Listener):
    """Says once that kernels are compiled: to the log, and to a terminal or notebook. Cached ones are not compiled."""

    said = False

    def on_start(self, event: Any) -> None:
        """Look whose function numba begins to compile."""
        if not self.said and event.data["dispatcher"].py_func.__module__.startswith("diffgbm."):
            self.said = True
            logging.getLogger("diffgbm").info(MESSAGE)
            note(MESSAGE)

    def on_end(self, event: Any) -> None:
        """Say nothing."""


announcement = Announcement()
event.register("numba:compile", announcement)  # type: ignore[no-untyped-call]


@cache
def digest(folder: Path) -> str:
    """Return eight digits that change with any source file in a folder, or with this file."""
    files = [*sorted(folder.glob("*.py")), Path(__file__)]
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:8]


def kernel(function: Function) -> Function:
    """Compile a function serially and without the GIL; keep the machine code between sessions if possible.

    numba considers cached machine code valid until the function's own file changes, although the code also contains the
    functions it calls. The name in the cache therefore depends on all files of the function's folder.
    """
    function.__qualname__ = f"{function.__name__}_{digest(Path(function.__code__.co_filename).parent)}"
    try:
        compiled = numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:  # numba finds no directory that is writable
        compiled = numba.njit(nogil=True)(function)
    add_layers(compiled)
    return cast(Function, compiled)


def part(function: Function) -> Function:
    """Compile a function only into the kernels that call it; Python calls the function itself.

    Nothing is compiled for calls from Python, which takes a third off the time of compiling.
    """
    return register_jitable(no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)


def _lowest_bit(typing_context: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        del context, signature
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    del typing_context
    return types.int64(types.uint64), generate


lowest_bit: Callable[..., int] = intrinsic(_lowest_bit)
"""Position of the lowest set bit of a nonzero uint64 (one machine instruction; numpy has no name for it)."""

LANES = 8
"""Numbers of a vector: 512 bits. Processors with shorter vectors take two or four of them."""


def _lanes(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Return a pointer to the vector of ``LANES`` float64 that begins at a position of an array."""
    data = context.make_array(signature.args[0])(context, builder, args[0]).data
    return builder.bitcast(builder.gep(data, [args[1]]), ir.VectorType(ir.DoubleType(), LANES).as_pointer())


def _exchange_lanes(typing_context: Any, values: Any, i: Any, j: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        low, high = (_lanes(context, builder, signature, (args[0], at)) for at in args[1:])
        a, b = builder.load(low, align=8), builder.load(high, align=8)
        # both from one comparison: no number is lost, also where one is not a number
        less = builder.fcmp_ordered("<", a, b)
        builder.store(builder.select(less, a, b), low, align=8)
        builder.store(builder.select(less, b, a), high, align=8)
        return context.get_dummy_value()

    del typing_context
    return types.none(values, types.int64, types.int64), generate


def _add_to_lanes(typing_context: Any, values: Any, i: Any, term: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        at = _lanes(context, builder, signature, args)
        vector = ir.Constant(ir.VectorType(ir.DoubleType(), LANES), ir.Undefined)
        for lane in range(LANES):
            vector = builder.insert_element(vector, args[2], ir.Constant(ir.IntType(32), lane))
        builder.store(builder.fadd(builder.load(at, align=8), vector), at, align=8)
        return context.get_dummy_value()

    del typing_context
    return types.none(values, types.int64, types.float64), generate


def _whole_lanes(context: Any, builder: Any, signature: Any, args: Any, j: int) -> Any:
    """Return argument ``j``, an array of int32, as a pointer to vectors of ``LANES``."""
    data = context.make_array(signature.args[j])(context, builder, args[j]).data
    return builder.bitcast(data, ir.VectorType(ir.IntType(32), LANES).as_pointer())


def _add_to_some(typing_context: Any, values: Any, i: Any, lanes: Any, term: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vector = ir.VectorType(ir.IntType(32), LANES)
        at = builder.gep(_whole_lanes(context, builder, signature, args, 0), [args[1]])
        chosen = builder.bitcast(args[2], ir.VectorType(ir.IntType(1), LANES))
        nothing = ir.Constant(vector, ir.Undefined)
        first = builder.insert_element(nothing, args[3], ir.Constant(ir.IntType(32), 0))
        terms = builder.shuffle_vector(first, nothing, ir.Constant(vector, [0] * LANES))
        terms = builder.select(chosen, terms, ir.Constant(vector, None))
        builder.store(builder.add(builder.load(at, align=4), terms), at, align=4)
        return context.get_dummy_value()

    del typing_context
    return types.none(values, types.int64, types.uint8, types.int32), generate


def _running_sums(typing_context: Any, differences: Any, out: Any, n: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        each, out = (_whole_lanes(context, builder, signature, args, j) for j in (0, 1))
        nothing = ir.Constant(ir.VectorType(ir.IntType(32), LANES), None)
        total = cgutils.alloca_once_value(builder, nothing)  # type: ignore[no-untyped-call]
        with cgutils.for_range(builder, args[2]) as loop:
            found = builder.add(builder.load(total), builder.load(builder.gep(each, [loop.index]), align=4))
            builder.store(found, total)
            builder.store(found, builder.gep(out, [loop.index]), align=4)
        return context.get_dummy_value()

    del typing_context
    return types.none(differences, out, types.int64), generate


exchange_lanes: Callable[..., None] = intrinsic(_exchange_lanes)
"""``exchange_lanes(values, i, j)``: in each lane write the lesser of two numbers at ``i``, the other at ``j``.

One vector instruction each; the compiler does not find them by itself.
"""
add_to_lanes: Callable[..., None] = intrinsic(_add_to_lanes)
"""``add_to_lanes(values, i, term)``: add a number to the ``LANES`` numbers from position ``i``."""
SIXTY_FOUR = 8 * LANES
"""Numbers that ``sort_sixty_four`` sorts."""


def _in_order(builder: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """Return in each lane the lesser of two numbers, and the other; none is lost, also where one is not a number."""
    less = builder.fcmp_ordered("<", a, b)
    return builder.select(less, a, b), builder.select(less, b, a)


def _shuffled(builder: Any, vector: Any, lanes: list[int]) -> Any:
    order = ir.Constant(ir.VectorType(ir.IntType(32), LANES), lanes)
    return builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), order)


def _exchange_within(builder: Any, vector: Any, bits: int) -> Any:
    """Put lanes ``l`` and ``l ^ bits`` in order, the lesser number into the lower one."""
    partner = _shuffled(builder, vector, [lane ^ bits for lane in range(LANES)])
    is_low = ir.Constant(ir.VectorType(ir.IntType(1), LANES), [lane < lane ^ bits for lane in range(LANES)])
    low, high = builder.fcmp_ordered("<", vector, partner), builder.fcmp_ordered("<", partner, vector)
    return builder.select(builder.select(is_low, low, high), vector, partner)


def _sort_sixty_four(typing_context: Any, values: Any) -> Any:
    """Batcher's bitonic sorting network; each merge first compares with the mirrored place."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        first = builder.bitcast(data, ir.VectorType(ir.DoubleType(), LANES).as_pointer())
        places = [builder.gep(first, [ir.Constant(ir.IntType(64), i)]) for i in range(8)]
        v = [builder.load(place, align=8) for place in places]

        def within(*steps: int) -> None:
            for bits in steps:
                v[:] = [_exchange_within(builder, vector, bits) for vector in v]

        within(1, 3, 1, 7, 2, 1)
        backwards = list(range(LANES))[::-1]
        for size in (2, 4, 8):  # vectors that are merged
            for i in range(8):
                j = i ^ (size - 1)
                if i < j:
                    v[i], mirrored = _in_order(builder, v[i], _shuffled(builder, v[j], backwards))
                    v[j] = _shuffled(builder, mirrored, backwards)
            for distance in (2, 1) if size == 8 else (1,) if size == 4 else ():
                for i in range(8):
                    if not i & distance:
                        v[i], v[i + distance] = _in_order(builder, v[i], v[i + distance])
            within(4, 2, 1)
        for vector, place in zip(v, places, strict=True):
            builder.store(vector, place, align=8)
        return context.get_dummy_value()

    del typing_context
    return types.none(values), generate


sort_sixty_four: Callable[..., None] = intrinsic(_sort_sixty_four)
"""``sort_sixty_four(values)``: sort the first 64 float64 of an array.

References
----------
Batcher, K. E. (1968). Sorting networks and their applications. AFIPS Spring Joint Computer Conference, 307-314.
"""
add_to_some: Callable[..., None] = intrinsic(_add_to_some)
"""``add_to_some(values, i, lanes, term)``: add a number to some lanes, bits of a byte, of vector ``i`` of int32."""
running_sums: Callable[..., None] = intrinsic(_running_sums)
"""``running_sums(differences, out, n)``: in each lane write the running sums of the first ``n`` of int32 vectors."""


def _times_power_of_two(typing_context: Any, value: Any, exponent: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        del context, signature
        word = ir.IntType(64)
        bits, lowest = (builder.bitcast(arg, word) for arg in args)
        return builder.bitcast(builder.add(bits, builder.shl(lowest, ir.Constant(word, 52))), ir.DoubleType())

    del typing_context
    return types.float64(types.float64, types.float64), generate


times_power_of_two: Callable[..., float] = intrinsic(_times_power_of_two)
"""``times_power_of_two(value, exponent)``: a number times 2 to a whole number, the lowest bits of ``exponent``.

Only for results that are neither infinite nor subnormal.
"""

WORDS = 8
"""Masks of 64 rows that are one vector."""


def _words(context: Any, builder: Any, array_type: Any, array: Any, at: Any, element: Any, count: int) -> Any:
    """Return a pointer to the vector of integers that begins at a position of an array."""
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [at]), ir.VectorType(element, count).as_pointer())


def _split_rows(typing_context: Any, stack: Any, at: Any, masks: Any, question: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word, byte = ir.IntType(64), ir.IntType(8)
        above = builder.add(args[1], ir.Constant(word, WORDS))
        here, there = (_words(context, builder, signature.args[0], args[0], i, word, WORDS) for i in (args[1], above))
        answers = builder.load(_words(context, builder, signature.args[2], args[2], args[3], word, WORDS), align=8)
        rows = builder.load(here, align=8)
        yes, no = builder.and_(rows, answers), builder.and_(rows, builder.not_(answers))

        def some(mask: Any) -> Any:
            each = builder.icmp_unsigned("!=", mask, ir.Constant(mask.type, None))
            return builder.icmp_unsigned("!=", builder.bitcast(each, byte), ir.Constant(byte, 0))

        any_yes = some(yes)
        both = builder.and_(any_yes, some(no))
        builder.store(builder.select(both, yes, rows), there, align=8)
        builder.store(builder.select(both, no, rows), here, align=8)
        return builder.add(builder.zext(any_yes, word), builder.shl(builder.zext(both, word), ir.Constant(word, 1)))

    del typing_context
    return types.int64(stack, types.int64, masks, types.int64), generate


def _mark_rows(typing_context: Any, marks: Any, at: Any, mask: Any, mark: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        byte, index = ir.IntType(8), ir.IntType(32)
        vector = ir.VectorType(byte, 64)
        place = _words(context, builder, signature.args[0], args[0], args[1], byte, 64)
        rows = builder.bitcast(args[2], ir.VectorType(ir.IntType(1), 64))
        nothing = ir.Constant(vector, ir.Undefined)
        first = builder.insert_element(nothing, args[3], ir.Constant(index, 0))
        marked = builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(index, 64), [0] * 64))
        builder.store(builder.select(rows, marked, builder.load(place, align=1)), place, align=1)
        return context.get_dummy_value()

    del typing_context
    return types.none(marks, types.int64, types.uint64, types.uint8), generate


split_rows: Callable[..., int] = intrinsic(_split_rows)
"""``split_rows(stack, at, masks, question)``: divide the rows of the ``WORDS`` masks at ``stack[at]`` by their answers.

If some say yes and some say no, those who say no stay and the others are written above them. Otherwise the rows stay as
they are. Returns 1 if some say yes, plus 2 if some say no as well.
"""
mark_rows: Callable[..., None] = intrinsic(_mark_rows)
"""``mark_rows(marks, at, mask, mark)``: write a byte for each of the 64 rows from ``at`` that is in the mask."""
