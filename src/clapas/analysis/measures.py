"""Measures by name, with defaults that suit most runs: ``measure(run, "slope")``, ``clapas measure run.h5``.

Each returns one number with its unit and, where available, its error: half the width of a 95 %
interval, or the standard error where stated. The measures themselves are in the other modules of this
package; this one only chooses boxes, spacings and levels from the run.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from clapas.analysis.cells import packing
from clapas.analysis.distributions import mobilised_friction
from clapas.analysis.energy import energy_balance
from clapas.analysis.inside import box_inside
from clapas.analysis.instant import Instant
from clapas.analysis.profile import incline, surface_line
from clapas.analysis.stress import box_stress, principal
from clapas.analysis.structure import anisotropy, coordination, fabric
from clapas.analysis.surface import Slope, slope, surface_samples
from clapas.errors import SettingsError, unknown_name
from clapas.io.recording import Recording
from clapas.typing import Array
from clapas.units import in_dimension

SPACING = 1.5  # width of the columns that find a surface, in mean diameters
SLOW = 0.05  # m/s: faster grains are not part of a surface
TRIMMED = 0.1  # share of the length of a run, or of a surface, left out at each end


@dataclass(frozen=True)
class Measured:
    """A number with its unit.

    Parameters
    ----------
    name : str
        Name of the measure.
    value : float
        The number; NaN where there is nothing to measure, which the note says.
    unit : str
        Its unit; "" for pure numbers.
    error : float or None
        Its error, in the same unit.
    note : str
        Short description.
    more : mapping
        Related numbers.
    """

    name: str
    value: float
    unit: str
    error: float | None = None
    note: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        if math.isnan(self.value):
            return "none"
        if self.error is None:
            return f"{self.value:.4g} {self.unit}".rstrip()
        digits = max(0, 1 - math.floor(math.log10(self.error))) if self.error > 0.0 else 4
        text = f"{self.value:.{digits}f} ± {self.error:.{digits}f}" if digits < 8 else f"{self.value:.4g}"
        return f"{text} {self.unit}".rstrip()


@dataclass(frozen=True, kw_only=True)
class Where:
    """Time and region to measure; None lets the measure choose.

    Parameters
    ----------
    time : float, optional
        The kept step nearest to it (s); by default the last.
    low, high : d floats, optional
        Corners of a box (m); by default the largest inside the grains, one mean diameter from walls and two
        from the free surface (for a slope: from the first grain to the last).
    level : float
        Height through which a flow is counted (m).
    """

    time: float | None = None
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    level: float = 0.0


def measure(
    run: Recording | str | os.PathLike[str],
    what: str,
    *,
    time: float | None = None,
    low: Sequence[float] | None = None,
    high: Sequence[float] | None = None,
    level: float = 0.0,
) -> Measured:
    """Measure a run by the name of the measure.

    Parameters
    ----------
    run : Recording or path
        The run.
    what : str
        A key of :data:`MEASURES`: slope, packing, coordination, anisotropy, stress, force, friction, flow,
        speed, energy or penetration.
    time, low, high, level
        See :class:`Where`.

    Examples
    --------
    >>> from clapas.scenes import examples
    >>> from clapas.io.simulation import simulate
    >>> with simulate(examples.load("two-block-stack"), on_unsolved="record") as run:
    ...     print(measure(run, "coordination"))
    1.5
    """
    if what not in MEASURES:
        raise unknown_name("measure", what, list(MEASURES))
    if isinstance(run, str | os.PathLike):
        with Recording(run) as opened:
            return measure(opened, what, time=time, low=low, high=high, level=level)
    if (low is None) != (high is None):
        raise SettingsError("a box needs both corners: give low and high")
    if not math.isfinite(level):
        raise SettingsError(f"level must be a height in metres, got {level}")
    options = {"time": time is not None, "box": low is not None, "level": level != 0.0}
    ignored = [option for option, is_given in options.items() if is_given and not heeds(what, option)]
    if ignored:
        raise SettingsError(f"'{what}' takes no {ignored[0]}: it is {UNHEEDED[ignored[0]]}")
    return MEASURES[what](run, Where(time=time, low=low, high=high, level=level))


def require_box(run: Recording, low: Sequence[float], high: Sequence[float]) -> None:
    """Check that two corners are those of a box in the dimension of a run."""
    d = run.model.d
    is_box = len(low) == len(high) == d and np.isfinite([*low, *high]).all() and np.all(np.less(low, high))
    if not is_box:
        raise SettingsError(
            f"low and high must be opposite corners of a box in {d}-D, the lower one first, got "
            f"{list(low)} and {list(high)}"
        )


# -------------------------------------------------------------------- time and region


def instant_of(run: Recording, time: float | None) -> Instant:
    """The kept step nearest to a time, by default the last."""
    return Instant.of_recording(run, run.nearest(time))


def inner_box(instant: Instant, where: Where) -> tuple[Array, Array]:
    """The box given, or the largest inside the grains; whole periods of a cell where they are covered."""
    if where.low is not None and where.high is not None:
        return np.asarray(where.low, dtype=float), np.asarray(where.high, dtype=float)
    _require_sizes(instant)
    found = box_inside(instant)
    if found is None:
        raise SettingsError(
            "the grains leave no room inside for a box one mean diameter wide, away from walls and from the "
            "free surface: give its corners, low and high (--box LOW:HIGH of 'clapas measure')"
        )
    return found


def _require_grains(instant: Instant) -> None:
    """Raise if nothing moves freely: trusses, elastic bodies and rods are no grains."""
    if not instant.movable.any():
        raise SettingsError(f"there is no grain to measure at t = {instant.time:g} s")


def _require_sizes(instant: Instant) -> None:
    """Raise if all that moves freely are points, which fill no room and have no surface."""
    _require_grains(instant)
    if not instant.is_sized.any():
        raise SettingsError(f"there is no grain with a size at t = {instant.time:g} s, only points")


# -------------------------------------------------------------------- the measures


def heap_slope(instant: Instant) -> Slope:
    """Slope of a heap in 3-D about the vertical axis through the origin.

    Columns are 1.5 mean diameters wide, grains faster than 5 cm/s are left out, and the ground is
    the height of a plane, or half a mean diameter above the centres of a pavement.
    """
    _require_sizes(instant)
    diameter = 2.0 * float(instant.reach[instant.is_sized].mean())
    samples = surface_samples(instant, SPACING * diameter, slowest=SLOW)
    return slope(samples, ground=ground_level(instant))


def ground_level(instant: Instant) -> float:
    """Height of the ground (m): that of contacts with planes, or of the tops of fixed grains."""
    up = -1  # the last axis
    carrying = instant.carrying
    wall_a, wall_b = ~instant.movable[instant.a] & carrying, ~instant.movable[instant.b] & carrying
    walls = np.concatenate((instant.a[wall_a], instant.b[wall_b]))
    points = np.concatenate((instant.point[wall_a], instant.point[wall_b]))
    if len(walls) == 0:
        return 0.0
    is_grain = np.isfinite(instant.reach[walls])
    if is_grain.any():
        radius = float(instant.reach[instant.is_sized].mean())
        return float(instant.centre[np.unique(walls[is_grain]), up].mean()) + radius
    return float(points[:, up].min())


def _slope(run: Recording, where: Where) -> Measured:
    instant = instant_of(run, where.time)
    if instant.d == 3:
        fit = heap_slope(instant)
        more = {"summit": fit.summit, "foot": fit.foot}
        angle, error = math.degrees(fit.angle), math.degrees(fit.high - fit.angle)
        return Measured("slope", angle, "°", error, "angle of repose about the vertical axis; 95 %", more)
    angle, error = _flanks(instant, where)
    return Measured("slope", angle, "°", error, "mean angle of the flanks; standard error")


def _flanks(instant: Instant, where: Where) -> tuple[float, float]:
    """Mean angle (degrees) of the flanks of a surface in the plane, without its ends, and its error."""
    _require_sizes(instant)
    centre, radius = instant.centre[instant.is_sized], instant.reach[instant.is_sized]
    left, right = float(centre[:, 0].min()), float(centre[:, 0].max())
    if where.low is not None and where.high is not None:
        left, right = float(where.low[0]), float(where.high[0])
    elif left == right:  # one grain, or a column of them
        raise _too_few_columns(0, 0)
    points = surface_line(instant, SPACING * 2.0 * float(radius.mean()), left, right)
    summit = float(points[np.argmax(points[:, 1]), 0])
    trim = TRIMMED * (right - left)
    flanks = [(left + trim, summit - trim / 2), (summit + trim / 2, right - trim)]
    fits, counts = [], []
    for begin, end in flanks:
        flank = points[(points[:, 0] >= begin) & (points[:, 0] <= end)]
        counts.append(len(flank))
        if len(flank) >= 3 and np.ptp(flank[:, 0]) > 0.0:
            fits.append(incline(flank))
    if not fits:
        raise _too_few_columns(*counts)
    angles = np.degrees([abs(fit.angle) for fit in fits])
    errors = np.degrees([fit.error for fit in fits])
    return float(angles.mean()), float(np.sqrt(np.sum(errors**2)) / len(errors))


def _too_few_columns(left: int, right: int) -> SettingsError:
    """The error of a surface in the plane without flanks to fit a line to."""
    return SettingsError(
        f"too few grains at the surface for a slope: {left} and {right} columns on the flanks, "
        f"{SPACING:g} mean diameters wide each, without {TRIMMED:.0%} of the width at either end and "
        f"{TRIMMED:.0%} about the summit; one flank needs three at least: take a larger heap"
    )


def _packing(run: Recording, where: Where) -> Measured:
    instant = instant_of(run, where.time)
    low, high = inner_box(instant, where)
    share, error = packing(instant, low.tolist(), high.tolist())
    note = "share of the box that grains fill" + ("" if error is None else "; 95 %")
    return Measured("packing", share, "", error, note, _box(low, high))


def _coordination(run: Recording, where: Where) -> Measured:
    instant = instant_of(run, where.time)
    _require_grains(instant)
    result = coordination(instant)
    more = {"rattlers": result.rattlers, "mean_of_backbone": result.mean_of_backbone}
    return Measured("coordination", result.mean, "", None, "neighbours with a force, mean over grains", more)


def _anisotropy(run: Recording, where: Where) -> Measured:
    instant = instant_of(run, where.time)
    tensor = fabric(instant)
    more = {"fabric": tensor}
    if not instant.carrying.any():
        return Measured("anisotropy", math.nan, "", None, _no_contact(instant), more)
    return Measured("anisotropy", anisotropy(tensor), "", None, "of contact directions", more)


def _stress(run: Recording, where: Where) -> Measured:
    instant = instant_of(run, where.time)
    low, high = inner_box(instant, where)
    tensor = box_stress(instant, low.tolist(), high.tolist())
    values = principal(tensor)[0]
    more = {"stress": tensor, "principal": values, **_box(low, high)}
    value = float(np.trace(tensor) / instant.d)
    return Measured("stress", value, "Pa", None, "mean pressure in the box", more)


def _force(run: Recording, where: Where) -> Measured:
    instant = instant_of(run, where.time)
    normal = instant.normal_force[instant.carrying]
    more = {"largest": float(normal.max(initial=0.0)), "contacts": len(normal)}
    unit = in_dimension("N", instant.d)
    if len(normal) == 0:
        return Measured("force", math.nan, unit, None, _no_contact(instant), more)
    note = "mean normal force of the contacts that carry"
    return Measured("force", float(normal.mean()), unit, None, note, more)


def _friction(run: Recording, where: Where) -> Measured:
    instant = instant_of(run, where.time)
    used = mobilised_friction(instant)
    used = used[np.isfinite(used)]
    if len(used) == 0:
        return Measured("friction", math.nan, "", None, _no_contact(instant, "has friction and "))
    more = {"sliding": float((used > 0.999).mean())}
    note = "mobilised friction, mean over contacts; 1 slides"
    return Measured("friction", float(used.mean()), "", None, note, more)


def _no_contact(instant: Instant, quality: str = "") -> str:
    """Why there is no mean over the contacts."""
    if instant.n_contacts == 0:
        return f"there are no contacts at t = {instant.time:g} s"
    return f"no contact {quality}carries a force at t = {instant.time:g} s"


def _flow(run: Recording, where: Where) -> Measured:
    model, up = run.model, -1
    began_below = (
        model.position[:, up] < where.level
    )  # sources below the height bring mass that never passes it
    below = []
    for row in range(run.n_frames):
        state = run.frame(row).state
        moving = np.flatnonzero(model.movable[: state.n_bodies])
        change = (state.position[moving, up] < where.level).astype(float) - began_below[moving]
        below.append(float(change @ model.mass[moving]))
    times, passed = run.times, np.array(below)
    trim = TRIMMED * (times[-1] - times[0])
    kept = (times >= times[0] + trim) & (times <= times[-1] - trim)
    if kept.sum() < 3:
        raise SettingsError(
            f"a flow needs three kept steps at least, got {int(kept.sum())} in the middle of the run "
            "(every=…, --every of 'clapas run', keeps more)"
        )
    unit = in_dimension("kg/s", model.d)
    if np.ptp(passed[kept]) == 0.0:  # a fit would give rounding
        note = f"nothing passes the height {where.level:g} m in the middle 80 % of the run"
        return Measured("flow", 0.0, unit, 0.0, note, {"passed": float(passed[-1] - passed[0])})
    (rate, _), covariance = np.polyfit(times[kept], passed[kept], 1, cov="unscaled")
    residual = passed[kept] - np.polyval(np.polyfit(times[kept], passed[kept], 1), times[kept])
    error = math.sqrt(covariance[0, 0] * float(residual @ residual) / max(1, int(kept.sum()) - 2))
    note = f"mass down through the height {where.level:g} m, in the middle 80 % of the run; standard error"
    return Measured("flow", float(rate), unit, error, note, {"passed": float(passed[-1] - passed[0])})


def _speed(run: Recording, where: Where) -> Measured:
    instant = instant_of(run, where.time)
    _require_grains(instant)
    speeds = np.linalg.norm(instant.velocity[instant.movable], axis=1)
    more = {"mean": float(speeds.mean())}
    return Measured("speed", float(speeds.max()), "m/s", None, "of the fastest grain", more)


def _energy(run: Recording, where: Where) -> Measured:
    balance = energy_balance(run)
    return Measured(
        "energy", float(run.column("kinetic")[-1]), "J" if run.model.d == 3 else "J/m", None,
        "kinetic, at the end",
        {"error_of_the_balance": float(np.abs(balance.error).max())},
    )  # fmt: skip


def _penetration(run: Recording, where: Where) -> Measured:
    frame = run.frame(run.nearest(where.time))
    depth = max(0.0, -float(frame.contacts.gap.min(initial=0.0)))
    return Measured("penetration", depth, "m", None, "deepest overlap of two bodies")


def _box(low: Array, high: Array) -> dict[str, Array]:
    return {"low": low, "high": high}


OF_THE_RUN = ("flow", "energy")
IN_A_BOX = ("slope", "packing", "stress")
UNHEEDED = {"time": "of the whole run", "box": "of all grains", "level": "not of a flow"}


def heeds(what: str, option: str) -> bool:
    """Whether a measure depends on the time, box or level.

    Examples
    --------
    >>> heeds("flow", "time"), heeds("flow", "level")
    (False, True)
    """
    return {"time": what not in OF_THE_RUN, "box": what in IN_A_BOX, "level": what == "flow"}[option]


MEASURES: dict[str, Callable[[Recording, Where], Measured]] = {
    "slope": _slope,
    "packing": _packing,
    "coordination": _coordination,
    "anisotropy": _anisotropy,
    "stress": _stress,
    "force": _force,
    "friction": _friction,
    "flow": _flow,
    "speed": _speed,
    "energy": _energy,
    "penetration": _penetration,
}
