"""Kernels keep to what the passes that they go through understand."""

from __future__ import annotations

import ast
from pathlib import Path

import numba
import numpy as np
from numba.core import compiler

from clapas.compiled import FAST_MATH, kernel
from clapas.compiled.pipeline import Flags

PACKAGE = Path(__file__).resolve().parents[3] / "src" / "clapas"
MARKS = {"kernel", "uncounted_kernel", "inlined", "rounded", "subroutine"}
LEFT_OUT = (
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
    ast.Lambda,
    ast.List,
    ast.With,
    ast.Raise,
)


def marks(function: ast.FunctionDef) -> set[str]:
    """The names of the decorators of a function."""
    called = (each.func if isinstance(each, ast.Call) else each for each in function.decorator_list)
    return {each.id for each in called if isinstance(each, ast.Name)}


def functions_in_kernels(path: Path) -> list[ast.FunctionDef]:
    """Functions of a file that are compiled: marked ones, and those that are chosen by type."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef) and marks(node) & MARKS:
            found.append(node)
        elif isinstance(node, ast.FunctionDef) and "chosen_by_type" in marks(node):
            found += [each for each in ast.walk(node) if isinstance(each, ast.FunctionDef) and each != node]
    return found


def test_kernels_have_nothing_that_is_left_out() -> None:
    compiled = [(path, function) for path in PACKAGE.rglob("*.py") for function in functions_in_kernels(path)]
    assert len(compiled) > 300
    refused = [
        f"{path.relative_to(PACKAGE)}, line {node.lineno}: {type(node).__name__} in {function.name}"
        for path, function in compiled
        for node in ast.walk(function)
        if isinstance(node, LEFT_OUT) or (isinstance(node, ast.FunctionDef) and node != function)
    ]
    assert refused == []


def test_options_are_told_apart_as_numba_does() -> None:
    def made(**options: object) -> Flags:
        usual = compiler.Flags()
        for name, value in options.items():
            setattr(usual, name, value)
        return Flags(usual)

    assert made(nrt=True) == made(nrt=True)
    assert hash(made(nrt=True)) == hash(made(nrt=True))
    assert made(nrt=False) == made()  # said or by default
    assert made(nrt=True) != made()
    assert made(fastmath=FAST_MATH) != made(fastmath={"contract"})
    assert made(nrt=True).copy() == made(nrt=True)


def test_kernels_compute_as_plain_numba_does() -> None:
    def sums(table: np.ndarray, out: np.ndarray) -> float:
        largest = 0.0
        for i in range(len(table)):
            for k in range(3):
                out[i] += table[i, k] * table[i, k]
            largest = max(largest, out[i])
        return largest

    table = np.random.default_rng(1).normal(size=(50, 3))
    ours, theirs = np.zeros(50), np.zeros(50)
    options = {"error_model": "numpy", "fastmath": FAST_MATH}
    assert kernel(sums)(table, ours) == numba.njit(**options)(sums)(table, theirs)
    assert (ours == theirs).all()
