"""Eight numbers side by side as one value inside kernels (SIMD: single instruction, multiple data).

A kernel that loads :func:`lanes <load>` computes on eight contacts with the formulas of one:
``+ - * /``, comparisons (which give masks), :func:`where`, :func:`sqrt`. The compiler turns each
operation into one instruction on wide registers, or into two or four on narrower ones; nothing is
left to its auto-vectoriser, whose success changes with the shape of a loop. Eight doubles fill a
cache line and the widest register in use.

Lanes are as precise as the array they are loaded from: doubles, or singles, of which eight take half the room
and on most processors less than half the time. Single numbers in a formula take the precision of the lanes.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils as numba_cgutils
from numba.core import types

from clapas.compiled import FAST_MATH, intrinsic
from clapas.typing import Array

extending: Any = numba.extending
cgutils: Any = numba_cgutils
uniform_tuple: Any = types.UniTuple

Emitter = Callable[..., Any]  # writes instructions: (builder, values) to a value

WIDTH = 8
CACHE_LINE = 64  # bytes
FLAGS = tuple(sorted(FAST_MATH))
EXACT_DIVISION = tuple(sorted(FAST_MATH - {"arcp"}))

# ------------------------------------------------------------------------------------------ types


class LanesType(types.Type):
    """Compile-time type of eight numbers, of one precision: their Numba type."""

    def __init__(self, number: Any) -> None:
        self.number = number
        super().__init__(name=f"Lanes{WIDTH}_{number}")

    @property
    def vector(self) -> Any:
        """The type of the compiler behind Numba."""
        return ir.VectorType(ir.DoubleType() if self.number is types.float64 else ir.FloatType(), WIDTH)

    @property
    def suffix(self) -> str:
        """End of the names of its functions."""
        return f"v{WIDTH}f{self.number.bitwidth}"


class MaskType(types.Type):
    """Compile-time type of eight truth values."""

    def __init__(self) -> None:
        super().__init__(name=f"Mask{WIDTH}")


DOUBLES: Any = LanesType(types.float64)
SINGLES: Any = LanesType(types.float32)
MASK: Any = MaskType()
TRUTHS = ir.VectorType(ir.IntType(1), WIDTH)


def _store_as(numba_type: type, llvm_type: Callable[[Any], Any]) -> None:
    """Say what a compile-time type is made of."""

    class Model(extending.models.PrimitiveModel):  # type: ignore[misc]
        def __init__(self, manager: Any, frontend: Any) -> None:
            super().__init__(manager, frontend, llvm_type(frontend))

    extending.register_model(numba_type)(Model)


_store_as(LanesType, lambda lanes: lanes.vector)
_store_as(MaskType, lambda mask: TRUTHS)


def _lanes_of(array: Any) -> Any:
    """The type of lanes loaded from an array of this type."""
    return SINGLES if array.dtype is types.float32 else DOUBLES


# ------------------------------------------------------------------------------------------ operators


def _spread(builder: Any, value: Any, kind: Any, lanes: Any) -> Any:
    """One number in all lanes; lanes and masks as they are."""
    if kind is not types.float64:
        return value
    if lanes is SINGLES:
        value = builder.fptrunc(value, ir.FloatType())
    first = builder.insert_element(lanes.vector(ir.Undefined), value, ir.IntType(32)(0))
    return _shuffle(builder, first, first, [0] * WIDTH)


def _common(kinds: Sequence[Any]) -> Any:
    """The lanes among some types; doubles if there are none."""
    return next((kind for kind in kinds if isinstance(kind, LanesType)), DOUBLES)


def _shuffle(builder: Any, a: Any, b: Any, picks: list[int]) -> Any:
    """Lanes picked from a (0 to 7) and b (8 to 15)."""
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), picks))


def _define(
    function: Any, operands: Sequence[tuple[Any, ...]], result: Any, emit: Callable[..., Any]
) -> None:
    """Give an operator a meaning on some combinations of types."""

    def typer_of_two(a: Any, b: Any) -> Any:
        return result if (a, b) in operands else None

    def typer_of_one(a: Any) -> Any:
        return result if (a,) in operands else None

    typer = typer_of_one if len(operands[0]) == 1 else typer_of_two
    extending.type_callable(function)(lambda context: typer)

    def lower(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        lanes, given = _common(signature.args), zip(values, signature.args, strict=True)
        return emit(builder, *(_spread(builder, *item, lanes) for item in given))

    for combination in operands:
        extending.lower_builtin(function, *combination)(lower)


def _arithmetic(name: str) -> Emitter:
    return lambda builder, *values: getattr(builder, name)(*values, flags=_flags(values[0].type))


def _flags(vector: Any) -> tuple[str, ...]:
    """What the compiler may do to an operation.

    Singles are divided exactly: estimates of reciprocals, which processors have for them, take the smallest
    numbers for zero and turn them into NaN.
    """
    return FLAGS if isinstance(vector.element, ir.DoubleType) else EXACT_DIVISION


def _comparison(sign: str) -> Emitter:
    return lambda builder, a, b: builder.fcmp_ordered(sign, a, b)


for _lanes in (DOUBLES, SINGLES):
    _mixed = ((_lanes, _lanes), (_lanes, types.float64), (types.float64, _lanes))
    _define(operator.add, _mixed, _lanes, _arithmetic("fadd"))
    _define(operator.sub, _mixed, _lanes, _arithmetic("fsub"))
    _define(operator.mul, _mixed, _lanes, _arithmetic("fmul"))
    _define(operator.truediv, _mixed, _lanes, _arithmetic("fdiv"))
    _define(operator.neg, ((_lanes,),), _lanes, _arithmetic("fneg"))
    _define(operator.gt, _mixed, MASK, _comparison(">"))
    _define(operator.ge, _mixed, MASK, _comparison(">="))
    _define(operator.lt, _mixed, MASK, _comparison("<"))
    _define(operator.le, _mixed, MASK, _comparison("<="))
    _define(operator.eq, _mixed, MASK, _comparison("=="))
_define(operator.and_, ((MASK, MASK),), MASK, lambda builder, a, b: builder.and_(a, b))
_define(operator.or_, ((MASK, MASK),), MASK, lambda builder, a, b: builder.or_(a, b))
_define(operator.invert, ((MASK,),), MASK, lambda builder, a: builder.not_(a))

# ------------------------------------------------------------------------------------------ functions


@intrinsic
def where(context: Any, mask: Any, a: Any, b: Any) -> Any:
    """Lanes of ``a`` where the mask is true, of ``b`` elsewhere; either may be one number."""
    lanes = _common((a, b))

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        chosen = (_spread(builder, *item, lanes) for item in zip(values[1:], signature.args[1:], strict=True))
        return builder.select(values[0], *chosen)

    return lanes(mask, a, b), emit


@intrinsic
def sqrt(context: Any, a: Any) -> Any:
    """Square root of each lane."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kind = ir.FunctionType(a.vector, [a.vector])
        function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.sqrt.{a.suffix}")
        return builder.call(function, values, fastmath=_flags(a.vector))

    return a(a), emit


@intrinsic
def absolute(context: Any, a: Any) -> Any:
    """Absolute value of each lane."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kind = ir.FunctionType(a.vector, [a.vector])
        function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.fabs.{a.suffix}")
        return builder.call(function, values)

    return a(a), emit


@intrinsic
def any_lane(context: Any, mask: Any) -> Any:
    """Whether the mask is true somewhere."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        bits = builder.bitcast(values[0], ir.IntType(WIDTH))
        return builder.icmp_unsigned("!=", bits, bits.type(0))

    return types.boolean(mask), emit


@intrinsic
def lane_of(context: Any, a: Any, lane: Any) -> Any:
    """One lane: a number, or the truth of a mask."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.extract_element(values[0], context.cast(builder, values[1], lane, types.int32))

    return (a.number if isinstance(a, LanesType) else types.boolean)(a, lane), emit


@intrinsic
def with_lane(context: Any, a: Any, lane: Any, number: Any) -> Any:
    """The same lanes with one replaced."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        at = context.cast(builder, values[1], lane, types.int32)
        return builder.insert_element(values[0], context.cast(builder, values[2], number, a.number), at)

    return a(a, lane, number), emit


# ------------------------------------------------------------------------------------------ memory


def _address(context: Any, builder: Any, array: tuple[Any, Any], at: tuple[Any, Any]) -> Any:
    """Pointer to the entry ``at`` of a contiguous array, given as (value, type)."""
    data = context.make_array(array[1])(context, builder, array[0]).data
    return builder.gep(data, [context.cast(builder, *at, types.intp)])


def _read(builder: Any, lanes: Any, pointer: Any, offset: int = 0) -> Any:
    place = builder.gep(pointer, [ir.Constant(ir.IntType(64), offset)])
    return builder.load(builder.bitcast(place, lanes.vector.as_pointer()), align=lanes.number.bitwidth // 8)


def _write(builder: Any, lanes: Any, value: Any, pointer: Any) -> None:
    builder.store(
        value, builder.bitcast(pointer, lanes.vector.as_pointer()), align=lanes.number.bitwidth // 8
    )


@intrinsic
def load(context: Any, array: Any, at: Any) -> Any:
    """Entries ``at`` to ``at + 8`` of a flat array."""
    lanes = _lanes_of(array)

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return _read(builder, lanes, _address(context, builder, (values[0], array), (values[1], at)))

    return lanes(array, at), emit


@intrinsic
def store(context: Any, array: Any, at: Any, a: Any) -> Any:
    """Write the lanes to the entries ``at`` to ``at + 8`` of a flat array."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        _write(builder, a, values[2], _address(context, builder, (values[0], array), (values[1], at)))
        return context.get_dummy_value()

    return types.void(array, at, a), emit


# ------------------------------------------------------------------------------------------ small matrices


def _row_pointers(context: Any, builder: Any, table: Any, rows: Any, at: Any) -> list[Any]:
    """Pointers to the rows ``rows[at] … rows[at + 7]`` of a table; each argument as (value, type)."""
    array = context.make_array(table[1])(context, builder, table[0])
    width = builder.extract_value(array.shape, 1)
    first = _address(context, builder, rows, at)
    pointers = []
    for lane in range(WIDTH):
        number = builder.load(builder.gep(first, [ir.Constant(ir.IntType(64), lane)]))
        number = context.cast(builder, number, rows[1].dtype, types.uintp)
        pointers.append(builder.gep(array.data, [builder.mul(number, width, flags=("nuw", "nsw"))]))
    return pointers


def _transposed(builder: Any, rows: Sequence[Any]) -> list[Any]:
    """Eight lanes values from eight: lane i of value j is lane j of row i."""
    for half in (1, 2, 4):  # exchange the off-diagonal parts of blocks of twice this size
        low = [i + (WIDTH - half if i & half else 0) for i in range(WIDTH)]
        high = [i + half + (WIDTH - half if i & half else 0) for i in range(WIDTH)]
        done: list[Any] = [None] * WIDTH
        for i in range(WIDTH):
            if not i & half:
                done[i] = _shuffle(builder, rows[i], rows[i + half], low)
                done[i + half] = _shuffle(builder, rows[i], rows[i + half], high)
        rows = done
    return list(rows)


@intrinsic
def gather_rows(context: Any, table: Any, rows: Any, at: Any, size: Any) -> Any:
    """Columns of eight rows of a table: lane l of value j is ``table[rows[at + l], j]``.

    The length of ``size`` is the number of columns wanted; the rows of the table are as long as the
    next multiple of eight, so that they are read whole.
    """
    count, lanes = len(size), _lanes_of(table)
    result: Any = uniform_tuple(lanes, count)

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        arguments = list(zip(values, signature.args, strict=True))
        pointers = _row_pointers(context, builder, *arguments[:3])
        columns: list[Any] = []
        for first in range(0, count, WIDTH):
            columns += _transposed(builder, [_read(builder, lanes, pointer, first) for pointer in pointers])
        return context.make_tuple(builder, result, columns[:count])

    return result(table, rows, at, size), emit


@intrinsic
def scatter_rows(context: Any, table: Any, rows: Any, at: Any, columns: Any) -> Any:
    """Write back what :func:`gather_rows` read; the rest of each row becomes zero."""
    count, lanes = len(columns), _lanes_of(table)

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        arguments = list(zip(values, signature.args, strict=True))
        pointers = _row_pointers(context, builder, *arguments[:3])
        parts = [builder.extract_value(values[3], j) for j in range(count)]
        parts += [lanes.vector([0.0] * WIDTH)] * (-count % WIDTH)
        for first in range(0, count, WIDTH):
            for pointer, part in zip(
                pointers, _transposed(builder, parts[first : first + WIDTH]), strict=True
            ):
                _write(builder, lanes, part, builder.gep(pointer, [ir.Constant(ir.IntType(64), first)]))
        return context.get_dummy_value()

    return types.void(table, rows, at, columns), emit


@intrinsic
def plus_product(context: Any, a: Any, array: Any, at: Any, vector: Any) -> Any:
    """Return a + Σ_j m_j vector_j, m_j the lanes at ``at + 8 j`` of a flat array."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        pointer = _address(context, builder, (values[1], array), (values[2], at))
        total = values[0]
        for j in range(len(vector)):
            term = builder.fmul(
                _read(builder, a, pointer, WIDTH * j), builder.extract_value(values[3], j), flags=FLAGS
            )
            total = builder.fadd(total, term, flags=FLAGS)
        return total

    return a(a, array, at, vector), emit


@intrinsic
def plus_transposed_product(context: Any, vector: Any, array: Any, at: Any, weights: Any) -> Any:
    """Return vector_j + Σ_k m_kj weights_k, m_kj the lanes at ``at + 8 (k m + j)``, m = len(vector)."""
    count = len(vector)

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        pointer = _address(context, builder, (values[1], array), (values[2], at))
        results = []
        for j in range(count):
            total = builder.extract_value(values[0], j)
            for k in range(len(weights)):
                entry = _read(builder, vector.dtype, pointer, WIDTH * (k * count + j))
                term = builder.fmul(entry, builder.extract_value(values[3], k), flags=FLAGS)
                total = builder.fadd(total, term, flags=FLAGS)
            results.append(total)
        return context.make_tuple(builder, vector, results)

    return vector(vector, array, at, weights), emit


def aligned_empty(shape: tuple[int, ...], precision: Any = np.float64) -> Array:
    """Room that starts on a cache line, so that no load of eight crosses two."""
    count = math.prod(shape)
    spare = np.empty(count + CACHE_LINE // np.dtype(precision).itemsize, dtype=precision)
    first = (-spare.ctypes.data % CACHE_LINE) // spare.itemsize
    return spare[first : first + count].reshape(shape)


def aligned_zeros(shape: tuple[int, ...], precision: Any = np.float64) -> Array:
    """Zeros that start on a cache line."""
    zeros = aligned_empty(shape, precision)
    zeros[...] = 0.0
    return zeros
