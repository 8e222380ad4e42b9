"""The instruction that fetches memory before it is needed."""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils as numba_cgutils
from numba.core import types

from clapas.compiled import intrinsic

cgutils: Any = numba_cgutils

READ, KEEP, DATA = 0, 3, 1  # what the processor is told: to read, soon again, not instructions


@intrinsic
def prefetch(context: Any, array: Any, row: Any) -> Any:
    """Ask for a row of an array; nothing happens if it is out of bounds."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        number, byte = ir.IntType(32), ir.IntType(8).as_pointer()
        whole = context.make_array(array)(context, builder, values[0])
        stride = cgutils.unpack_tuple(builder, whole.strides)[0]
        away = builder.mul(stride, context.cast(builder, values[1], row, types.intp))
        place = builder.gep(builder.bitcast(whole.data, byte), [away])
        signature_of_it = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        ask = cgutils.get_or_insert_function(builder.module, signature_of_it, "llvm.prefetch.p0i8")
        builder.call(ask, [place, number(READ), number(KEEP), number(DATA)])
        return context.get_dummy_value()

    return types.void(array, row), emit
