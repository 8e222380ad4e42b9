"""Settings of solvers hold what their annotations say, and a slip is named where it is made."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from clapas.errors import SettingsError
from clapas.solvers import (
    ADMM,
    NSGS,
    AcceleratedGradient,
    Auto,
    BranchAndBound,
    Coloured,
    ConicFixedPoint,
    InteriorPoint,
    MicroMacro,
    NaturalMap,
    Nonmonotone,
    SemismoothNewton,
    Shuffled,
    registry,
)
from clapas.solvers.kinds import require_kinds
from clapas.solvers.lcp import Lemke
from clapas.solvers.lcp import registry as of_lcp


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        (NSGS, {"max_iterations": 2.5}, "max_iterations must be an integer, got 2.5"),
        (Auto, {"max_iterations": math.nan}, "max_iterations must be an integer, got nan"),
        (InteriorPoint, {"max_iterations": math.inf}, "max_iterations must be an integer, got inf"),
        (Lemke, {"max_iterations": "many"}, "max_iterations must be an integer, got 'many'"),
        (NSGS, {"max_iterations": True}, "max_iterations must be an integer, got True"),
        (NSGS, {"tol": "small"}, "tol must be a number, got 'small'"),
        (NSGS, {"tol": [1e-3]}, r"tol must be a number, got \[0.001\]"),
        (
            NSGS,
            {"local": "alart-curnier"},
            r"local must be Exact\(...\), AlartCurnier\(...\) or DeSaxce\(...\), got 'alart-curnier'",
        ),
        (NSGS, {"order": Shuffled}, "order must be .*, got the class Shuffled"),
        (NSGS, {"form": "matrix"}, "form must be 'auto', 'bodies' or 'delassus', got 'matrix'"),
        (
            SemismoothNewton,
            {"function": "natural"},
            r"function must be AlartCurnierMap.*NaturalMap\(...\).*, got 'natural'",
        ),
        (ConicFixedPoint, {"inner": None}, r"inner must be AcceleratedGradient\(...\), .*, got None"),
        (ADMM, {"balancing": 1}, "balancing must be True or False, got 1"),
        (BranchAndBound, {"heuristics": NSGS()}, r"heuristics must be a tuple, got NSGS\("),
        (MicroMacro, {"macro": "yes"}, "macro must be True or False or an integer, got 'yes'"),
        (MicroMacro, {"k": math.inf}, "k must be positive and finite, got inf"),
        (Nonmonotone, {"memory": "8"}, "memory must be an integer, got '8'"),
        (AcceleratedGradient, {"relax": None}, "relax must be a number, got None"),
        (Coloured, {"threads": "2"}, "threads must be an integer or None, got '2'"),
        (NSGS, {"order": Shuffled(seed="three")}, "seed must be an integer, got 'three'"),  # type: ignore[arg-type]
    ],
)
def test_slips_are_named(kind: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        kind(**settings)


@pytest.mark.parametrize("number", [10_000.0, np.float64(1e4), np.int32(10_000)])
def test_whole_numbers_are_integers_whatever_their_type(number: Any) -> None:
    solver = NSGS(max_iterations=number)
    assert solver == NSGS(max_iterations=10_000)
    assert isinstance(solver.max_iterations, int | np.integer)


@pytest.mark.parametrize("name", [*registry.names(), *(f"lcp {name}" for name in of_lcp.names())])
def test_every_solver_is_checked(name: str) -> None:
    """Annotations that cannot be read would be passed over."""
    kind: Any = of_lcp.find(name[4:]).solver if name.startswith("lcp ") else registry.find(name).solver
    with pytest.raises(SettingsError, match="must be a"):
        kind(max_iterations=2.5)


def test_any_object_passes_for_a_protocol() -> None:
    """A map of one's own needs the methods, not a base."""

    class Own(NaturalMap):
        pass

    SemismoothNewton(function=Own())


def test_annotations_that_only_a_type_checker_knows_are_passed_over() -> None:
    @dataclass
    class Strange:
        size: Nowhere = 3  # type: ignore[name-defined]  # noqa: F821

    require_kinds(Strange())


def test_what_may_be_anything_is_kept_as_it_is() -> None:
    @dataclass
    class Open:
        share: Any = 2.5

    held = Open()
    require_kinds(held)
    assert held.share == 2.5
