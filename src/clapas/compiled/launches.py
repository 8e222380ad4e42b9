"""Kernels run by several threads at once, handed over without Python.

A thread that has to enter Python to find its work waits for Python's lock, which the thread that launches
holds until its own kernel runs: 20 to 60 µs, as long as a pass over ten thousand contacts takes. So a launch
writes the arguments, as machine code takes them, to a frame of the team, and the address of a function that
reads them to its desk. The members of the team look at the desk in a kernel without Python's lock, and call
that function.

The desk holds the numbers that all members see:

``LEFT``      shares that nobody has taken yet, a bit each
``DONE``      shares that are done
``CODE``      address of the function that does a share
``FRAME``     address of the arguments
``CALLS``     launches of Python functions so far, for which members go back to Python
``RETURNS``   members that have come back from one, of all calls together

To take a share is to replace that number by one without its bit, if it has not changed meanwhile. Code and
frame then belong to that share, since the launch ends only when it is done. Each thread takes the share of
its rank if it can: what it wrote there in the launch before is in the caches of its core. A member that comes
late, or not at all because others use its core, delays nobody: those who are done take what is left. Only
where threads wait for each other inside a kernel (:func:`clapas.compiled.threads.wait`) are all needed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils as numba_cgutils
from numba.core import types

from clapas.compiled import intrinsic, kernel
from clapas.compiled.counters import leave_the_core, pause
from clapas.compiled.threads import MOST, RELEASED, SPINS, Worker
from clapas.typing import Array, Indices

cgutils: Any = numba_cgutils
WHOLE: Any = ir.IntType(64)
SHARE: Any = ir.FunctionType(ir.VoidType(), [WHOLE, WHOLE])  # address of the frame, rank

APART = 16  # numbers between those that different threads write: two cache lines
LEFT, DONE, RETURNS = 0, APART, 2 * APART
CODE, FRAME, CALLS = 3 * APART, 3 * APART + 1, 3 * APART + 2
DESK = 4 * APART
ROOM = 8192  # bytes of a frame for the arguments; a number behind them says that a share has failed
PATIENCE = 8000  # looks at the desk, some 200 µs, before a member gives up
BREATH = 200  # pauses after a call: who makes it holds Python's lock until it is in a kernel itself


@intrinsic
def look_at(context: Any, desk: Any, place: Any) -> Any:
    """A number on the desk, as other threads left it."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.load_atomic(_pointer(context, builder, desk, values), "acquire", 8)

    return types.int64(desk, types.int64), emit


@intrinsic
def leave_at(context: Any, desk: Any, place: Any, number: Any) -> Any:
    """Put a number on the desk, where other threads see it after all that was written before."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        pointer = _pointer(context, builder, desk, values)
        builder.atomic_rmw("xchg", pointer, values[2], "seq_cst")
        return context.get_dummy_value()

    return types.void(desk, types.int64, types.int64), emit


@intrinsic
def count_at(context: Any, desk: Any, place: Any) -> Any:
    """Add one to a number on the desk."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        pointer = _pointer(context, builder, desk, values)
        builder.atomic_rmw("add", pointer, ir.Constant(WHOLE, 1), "acq_rel")
        return context.get_dummy_value()

    return types.void(desk, types.int64), emit


@intrinsic
def swap_at(context: Any, desk: Any, place: Any, old: Any, new: Any) -> Any:
    """Replace a number on the desk if it is still the old one; return whether it was."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        pointer = _pointer(context, builder, desk, values)
        swapped = builder.cmpxchg(pointer, values[2], values[3], "seq_cst", "seq_cst")
        return builder.extract_value(swapped, 1)

    return types.boolean(desk, types.int64, types.int64, types.int64), emit


def _pointer(context: Any, builder: Any, desk: Any, values: Any) -> Any:
    return builder.gep(context.make_array(desk)(context, builder, values[0]).data, [values[1]])


@intrinsic
def do_share(context: Any, code: Any, frame: Any, rank: Any) -> Any:
    """Do a share: call the function at an address."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        function = builder.inttoptr(values[0], SHARE.as_pointer())
        builder.call(function, [values[1], values[2]])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), emit


@intrinsic
def framed(context: Any, function: Any, frame: Any, worker: Any, arguments: Any) -> Any:
    """Write the arguments of a kernel to a frame; return the address of a function that does a share."""
    called = context.resolve_function_type(function, (worker, *arguments.types), {})

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        given = [_borrowed(builder, worker, values[2]), _borrowed(builder, arguments, values[3])]
        room = context.make_array(frame)(context, builder, values[1]).data
        record: Any = ir.LiteralStructType([value.type for value in given])
        if context.get_abi_sizeof(record) > ROOM:
            raise ValueError(f"the arguments of {function} take more than {ROOM} bytes")
        place = builder.bitcast(room, record.as_pointer())
        for k, value in enumerate(given):
            builder.store(value, cgutils.gep_inbounds(builder, place, 0, k))

        share = ir.Function(builder.module, SHARE, name=builder.function.name + ".share")
        share.linkage = "internal"
        share.attributes.add("noinline")
        inner: Any = ir.IRBuilder(share.append_basic_block("entry"))
        kept = inner.inttoptr(share.args[0], record.as_pointer())
        first, rest = (inner.load(cgutils.gep_inbounds(inner, kept, 0, k)) for k in range(2))
        first = inner.insert_value(first, share.args[1], 0)
        task = function.dispatcher.overloads[called.args]
        context.add_linking_libs((task.library,))
        callee = context.declare_function(builder.module, task.fndesc)
        each = [first, *cgutils.unpack_tuple(inner, rest)]
        status, _ = context.call_conv.call_function(inner, callee, called.return_type, called.args, each)
        with inner.if_then(status.is_error, likely=False):
            _fail(context, inner, share.args[0], worker, first)
        inner.ret_void()
        return builder.ptrtoint(share, WHOLE)

    return types.int64(function, frame, worker, arguments), emit


def _fail(context: Any, builder: Any, frame: Any, kind: Any, worker: Any) -> None:
    """Say that a share has failed, and let nobody wait for it."""
    mark = builder.inttoptr(builder.add(frame, ir.Constant(WHOLE, ROOM)), WHOLE.as_pointer())
    builder.store(ir.Constant(WHOLE, 1), mark)
    counter = context.make_array(kind.types[2])(context, builder, builder.extract_value(worker, 2))
    builder.store(ir.Constant(WHOLE, RELEASED), counter.data)


def _borrowed(builder: Any, kind: Any, value: Any) -> Any:
    """The same arrays without the counts of who holds them: those are Numba's, and end with its call.

    The arrays themselves are held by who launches.
    """
    if isinstance(kind, types.Array):
        return builder.insert_value(value, ir.Constant(value.type.elements[0], None), 0)
    if isinstance(kind, types.BaseTuple):
        parts: Any = kind
        for k, part in enumerate(parts.types):
            inner = _borrowed(builder, part, builder.extract_value(value, k))
            value = builder.insert_value(value, inner, k)
    return value


@intrinsic
def address(context: Any, frame: Any) -> Any:
    """Where the numbers of an array are."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        data = context.make_array(frame)(context, builder, values[0]).data
        return builder.ptrtoint(data, WHOLE)

    return types.int64(frame), emit


launched: Any = None  # the kernel, in each copy of the function below


def hand_out(desk: Indices, frame: Array, size: int, counter: Indices, *arguments: Any) -> None:
    """Write the arguments of a kernel to the frame, then as many shares as there are workers to the desk."""
    worker = Worker(0, size, counter)  # made here, since tuples are slow to pass
    leave_at(desk, CODE, framed(launched, frame, worker, arguments))
    leave_at(desk, FRAME, address(frame))
    leave_at(desk, DONE, 0)
    leave_at(desk, LEFT, (1 << size) - 1)


@cache
def launching(function: Any) -> Callable[..., None]:
    """The kernel that hands out shares of another: :func:`hand_out` for it.

    It is kept on disk beside that one, by the same sources.
    """
    plain = function.py_func.__code__
    name = "launch_" + plain.co_name
    place = {"co_filename": plain.co_filename, "co_firstlineno": plain.co_firstlineno}
    code = hand_out.__code__.replace(co_name=name, co_qualname=name, **place)
    return kernel(FunctionType(code, {**hand_out.__globals__, "launched": function}))


@kernel
def take_part(desk: Indices, rank: int) -> bool:
    """Do the share of this rank, or another that is left; return whether there was one."""
    while True:
        left = look_at(desk, LEFT)
        if left == 0:
            return False
        share = rank
        while not (left >> share) & 1:
            share = (share + 1) % MOST
        if swap_at(desk, LEFT, left, left ^ (1 << share)):
            do_share(look_at(desk, CODE), look_at(desk, FRAME), share)
            count_at(desk, DONE)
            return True


@kernel
def finish(desk: Indices, shares: int, is_off: bool) -> None:
    """Do the shares that are left, or take them back if the launch is called off; wait for the others."""
    while is_off:
        left = look_at(desk, LEFT)
        if swap_at(desk, LEFT, left, 0):
            is_off = False
            for share in range(MOST):
                shares -= (left >> share) & 1
    while take_part(desk, 0):
        pass
    settle(desk, DONE, shares)


@kernel
def settle(desk: Indices, place: int, goal: int) -> None:
    """Wait until a number on the desk has come to a goal."""
    looks = 0
    while look_at(desk, place) < goal:
        looks += 1
        if looks <= SPINS:
            pause()
        else:
            leave_the_core()


@kernel
def stand_by(desk: Indices, rank: int, calls: int) -> bool:
    """Do shares as they come, until a Python function is called; return False if patience ends before."""
    looks = 0
    while look_at(desk, CALLS) == calls:
        if take_part(desk, rank):
            looks = 0
        looks += 1
        if looks > PATIENCE:
            return False
        pause()
    for _ in range(BREATH):
        pause()
    return True


@kernel
def come_back(desk: Indices) -> None:
    """Say that this member has come back from a call."""
    count_at(desk, RETURNS)
