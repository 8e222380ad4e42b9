"""Numba's compiler without what kernels do not need.

Two thirds of the time of compilation are Python inside Numba. Numba documents how to choose the passes of a
compilation; those left out here did nothing for kernels but look at each of their statements.
"""

from __future__ import annotations

from typing import Any

from numba.core import compiler as numba_compiler

compiler: Any = numba_compiler

# Kernels, and the functions inside them, make no functions and no lists, raise nothing and have no ``with``.
NEEDLESS = {
    "WithLifting",
    "InlineClosureLikes",
    "RewriteDynamicRaises",
    "MakeFunctionToJitFunction",
    "InlineInlinables",
    "FindLiterallyCalls",
    "LiteralUnroll",
    "DumpParforDiagnostics",
}


class Flags(compiler.Flags):  # type: ignore[misc]
    """Options of a compilation that are compared quickly.

    Numba looks functions up by the options of their callers, tens of thousands of times. It hashes them all
    alike and compares them one by one.
    """

    __slots__ = ("_fixed",)

    def fixed(self) -> tuple[int, tuple[Any, ...]]:
        """A hash, and all options in order: they change no more once functions are looked up by them."""
        try:
            return self._fixed
        except AttributeError:
            values = tuple(self.values().values())
            switches = tuple(value for value in values if isinstance(value, bool))
            self._fixed: tuple[int, tuple[Any, ...]] = hash(switches), values
            return self._fixed

    def __hash__(self) -> int:
        return self.fixed()[0]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Flags) and self.fixed() == other.fixed()


class Pipeline(compiler.CompilerBase):  # type: ignore[misc]
    """The passes that kernels and the functions inside them go through."""

    def __init__(
        self, typing: Any, target: Any, library: Any, arguments: Any, result: Any, flags: Any, local: Any
    ) -> None:
        super().__init__(typing, target, library, arguments, result, Flags(flags), local)

    def define_pipelines(self) -> list[Any]:
        """Numba's passes for code without Python objects, but for those that kernels do not need."""
        usual = compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes = compiler.PassManager(usual.pipeline_name)
        for made, words in usual.passes:
            if made.__name__ not in NEEDLESS:
                passes.add_pass(made, words)
        passes.finalize()
        return [passes]

    def compile_extra(self, func: Any) -> Any:
        """Compile a function, and forget how: its statements and their types would stay as long as its code.

        Numba forgets the same of functions that it loads from the cache.
        """
        done = super().compile_extra(func)
        done.fndesc.typemap = done.fndesc.calltypes = None
        return done._replace(type_annotation="")
