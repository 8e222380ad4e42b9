"""Free rods beside PyElastica, at equal error: seconds of processor per simulated second.

Clamped rods start level and fall under their weight. The error is that of the tip after 50 ms against our own
rods of 48 elements; each code takes the coarsest of its settings with an error below 0.25 % of the length.
PyElastica's rods (Cosserat: they stretch and shear) are explicit: their steps are bounded by the time a
wave of stretch takes through an element. Much of its time is one Python call per rod for gravity and clamps.
"""

from __future__ import annotations

import contextlib
import io
import math
import time
from importlib.util import find_spec
from typing import Any

import numpy as np

from clapas.bodies.kind import Span
from clapas.bodies.rods import Rod, Rods
from clapas.typing import Array

LENGTH, RADIUS, DENSITY, YOUNG, POISSON = 0.12, 1e-3, 1300.0, 1e7, 0.48
GRAVITY = np.array([0.0, 0.0, -9.81])
FALL, ENOUGH = 0.05, 2.5e-3  # seconds; error allowed, of the length
HEADER = ["code", "rods", "elements", "step (s)", "error (%)", "s per simulated s"]
OURS = ((4, 1e-3), (6, 1e-3), (6, 5e-4), (12, 2.5e-4))
THEIRS = ((10, 0.1), (20, 0.2), (20, 0.1), (40, 0.3), (40, 0.1))  # elements, share of the time of a wave


def is_there() -> bool:
    """Whether PyElastica is installed."""
    return find_spec("elastica") is not None


def ours(rods: int, elements: int, h: float, duration: float) -> tuple[Array, float]:
    """Tip of the first rod from its root, and seconds per simulated second."""
    given: dict[str, Any] = {"radius": RADIUS, "density": DENSITY, "young": YOUNG, "poisson": POISSON}
    kind = Rods(
        [Rod(length=LENGTH, elements=elements, position=(0.02 * k, 0, 0), **given) for k in range(rods)]
    )
    part, began = kind.start(), time.process_time()
    for k in range(round(duration / h)):
        middle = kind.drift(part, 0.5 * h)
        after = kind.free(middle, Span((k + 0.5) * h, h, 0.5, GRAVITY))[1]
        part = kind.advance(middle, after, 0.5 * h)
    return kind.tips(part)[0], (time.process_time() - began) / duration


def theirs(rods: int, elements: int, share: float, duration: float) -> tuple[Array, float, float]:
    """The same by PyElastica, and its step (s)."""
    import elastica as ea

    class Rigs(ea.BaseSystemCollection, ea.Constraints, ea.Forcing):  # type: ignore[misc,name-defined]
        pass

    rigs, made = Rigs(), []
    for k in range(rods):
        rod = ea.CosseratRod.straight_rod(
            elements,
            np.array([0.0, 0.02 * k, 0.0]),
            np.array([1.0, 0.0, 0.0]),
            np.array([0.0, 0.0, 1.0]),
            LENGTH,
            RADIUS,
            DENSITY,
            youngs_modulus=YOUNG,
            shear_modulus=YOUNG / (2.0 * (1.0 + POISSON)),
        )
        rigs.append(rod)
        made.append(rod)
        ends = {"constrained_position_idx": (0,), "constrained_director_idx": (0,)}
        rigs.constrain(rod).using(ea.OneEndFixedBC, **ends)
        rigs.add_forcing_to(rod).using(ea.GravityForces, acc_gravity=GRAVITY)
    rigs.finalize()
    steps = math.ceil(duration / (share * LENGTH / elements / math.sqrt(YOUNG / DENSITY)))
    began = time.process_time()
    with contextlib.redirect_stdout(io.StringIO()):
        ea.integrate(ea.PositionVerlet(), rigs, duration, steps, progress_bar=False)
    seconds = (time.process_time() - began) / duration
    first = made[0].position_collection
    return first[:, -1] - first[:, 0], seconds, duration / steps


def rows(rods: int, timed: float = 0.02) -> list[list[str]]:
    """A row for each code: the coarsest settings with the error allowed, timed with many rods."""
    exact, _ = ours(1, 48, 1e-4, FALL)
    found = []
    for elements, h in OURS:
        error = float(np.linalg.norm(ours(1, elements, h, FALL)[0] - exact)) / LENGTH
        if error <= ENOUGH:
            ours(rods, elements, h, 2.0 * h)
            found.append(_row("clapas", rods, elements, h, error, ours(rods, elements, h, timed)[1]))
            break
    for elements, share in THEIRS if is_there() else ():
        tip, _, h = theirs(1, elements, share, FALL)
        error = float(np.linalg.norm(tip - exact)) / LENGTH
        if error <= ENOUGH:
            theirs(rods, elements, share, 2.0 * h)
            seconds = theirs(rods, elements, share, timed)[1]
            found.append(_row("pyelastica", rods, elements, h, error, seconds))
            break
    return found


def _row(code: str, rods: int, elements: int, h: float, error: float, seconds: float) -> list[str]:
    return [code, f"{rods}", f"{elements}", f"{h:.1e}", f"{100 * error:.2f}", f"{seconds:.1f}"]
