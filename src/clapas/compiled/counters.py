"""A number that several threads count up and look at, inside kernels."""

from __future__ import annotations

import os
import platform
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils as numba_cgutils
from numba.core import types

from clapas.compiled import intrinsic

cgutils: Any = numba_cgutils

YIELD = "SwitchToThread" if os.name == "nt" else "sched_yield"
IS_X86 = platform.machine().lower() in ("x86_64", "amd64")


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


@intrinsic
def pause(context: Any) -> Any:
    """Do nothing for a moment, and leave the units of the core to a thread that shares it."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        if IS_X86:
            nothing = ir.FunctionType(ir.VoidType(), [])
            builder.call(cgutils.get_or_insert_function(builder.module, nothing, "llvm.x86.sse2.pause"), [])
        return context.get_dummy_value()

    return types.void(), emit
