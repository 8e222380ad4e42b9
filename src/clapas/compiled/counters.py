"""A number that several threads count up and look at, inside kernels."""

from __future__ import annotations

import os
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils as numba_cgutils
from numba.core import types

from clapas.compiled import intrinsic

cgutils: Any = numba_cgutils

YIELD = "SwitchToThread" if os.name == "nt" else "sched_yield"


@intrinsic
def arrive(context: Any, counter: Any) -> Any:
    """Add one to the counter; return what it was."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        data = context.make_array(counter)(context, builder, values[0]).data
        return builder.atomic_rmw("add", data, ir.Constant(ir.IntType(64), 1), "acq_rel")

    return types.int64(counter), emit


@intrinsic
def look(context: Any, counter: Any) -> Any:
    """The counter as the other workers left it."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        data = context.make_array(counter)(context, builder, values[0]).data
        return builder.load_atomic(data, "acquire", 8)

    return types.int64(counter), emit


@intrinsic
def leave_the_core(context: Any) -> Any:
    """Let another thread or process run."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(ir.IntType(32), []), YIELD)
        builder.call(function, [])
        return context.get_dummy_value()

    return types.void(), emit
