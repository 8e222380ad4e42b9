"""Analytical contact solutions by finite elements: Hertz, Mindlin's partial slip, Spence's flat punch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from scipy.optimize import brentq
from scipy.special import ellipk

from clapas.bodies.elastic import Elastic, Obstacle, RigidContact, Solid, Support, block, graded, hertz_block
from clapas.geometry.shapes import Disk, HalfPlane
from clapas.statics.elastic import ElasticContact, OneLoopNewton, State, follow
from clapas.studies.fields import draw_field
from clapas.studies.report import Report
from clapas.studies.verdicts import NOT_REPRODUCED, WITHIN, Verdict, of_number
from clapas.typing import Array

RADIUS = 1.0  # of the rigid cylinder or sphere (m)
WIDTH = 0.05  # target half-width of contact (m)
FAR = 40.0  # half-widths to the far sides
FARTHER = 200.0  # for a flat punch, whose stick zone is sensitive to them
HERTZ = """\
A rigid cylinder (plane strain) or sphere (axisymmetric) of 1 m is pressed without friction into a block
forty half-widths large. With the force P that the nodes carry, Hertz says

    line:   a = √(4 P R / π E*),      p₀ = √(P E* / π R),
    point:  a = (3 P R / 4 E*)^⅓,     p₀ = 3 P / 2π a²,

with E* = E/(1 − ν²). Half-width and pressure are those of the straight line p² = p₀² (1 − x²/a²) through
the pressures of the nodes in contact (the force of a node over its area). The last half per cent of the line
contact is not the mesh's: the block is finite, and a circle is no parabola at a/R = 0.07."""
MINDLIN = """\
Pressed first, the cylinder is then pushed sideways by Q. For a nearly incompressible half-space (ν =
0.499) normal and tangential contact do not interact, and Cattaneo and Mindlin give the half-width of the
zone that sticks,

    c / a = √(1 − Q / mu P).

Measured: half of the width of the nodes that stick, so to one cell (a / {cells})."""

SPENCE = """\
A flat rigid punch of half-width a is pressed into a half-space with friction. Under it the material wants to
move inwards; it sticks within c and slips outside. c/a does not depend on the load. If friction did not
change the pressure (Goodman's assumption) it would be

    K'(c/a) / K(c/a) = β / mu,        β = (1 − 2ν) / 2(1 − ν),

with K the complete elliptic integral of the first kind (Spence 1973; Johnson 1985, section 5.4). It does
change it, the more the larger β is: the column "coupled" solves the two integral equations of the half-plane
together, by strips of constant pressure and friction, independently of the finite elements. At ν = 0 and
mu = 0.4 the formula says 0.52, the coupled equations 0.36. Finite elements are measured to one cell
(a / {cells}), between the last node that sticks and the first that slips, on a block of 200 half-widths (on
40 the far sides widen the zone by a tenth of a where β is small)."""


@dataclass(frozen=True)
class HertzContact:
    """Force, half-width and largest pressure of a computed contact, and Hertz's values for that force."""

    force: float
    width: float
    pressure: float
    exact_width: float
    exact_pressure: float
    state: State


def hertz(cells: int, kind: Literal["line", "point"], element: str = "Q4", nu: float = 0.3) -> HertzContact:
    """Press a rigid cylinder or sphere into a half-space.

    Parameters
    ----------
    cells : int
        Cells along the half-width of contact.
    kind : "line" or "point"
        Cylinder in plane strain, or sphere.
    element : str
        Q4 or T3.
    nu : float
        Poisson's ratio; Young's modulus is one.

    Examples
    --------
    >>> found = hertz(6, "line")
    >>> abs(found.width / found.exact_width - 1) < 0.02
    True
    >>> abs(found.pressure / found.exact_pressure - 1) < 0.02
    True
    """
    mesh = hertz_block(WIDTH, FAR * WIDTH, cells, element)
    solid = Solid(
        mesh=mesh,
        material=Elastic(young=1.0, poisson=nu),
        kinematics="plane strain" if kind == "line" else "axisymmetric",
    )
    depth = WIDTH**2 / RADIUS
    if kind == "line":
        depth *= 0.5 * (2.0 * np.log(2.0 * FAR) - 1.0)  # of a layer of FAR half-widths, about
    stage = ElasticContact(
        solid=solid,
        supports=[Support("bottom", "xy"), Support("left", "x")],
        contacts=[
            RigidContact(surface="top", obstacle=Obstacle(Disk(RADIUS), (0.0, RADIUS)), motion=(0.0, -depth))
        ],
    )
    state = OneLoopNewton().solve(stage)
    x = mesh.nodes[state.nodes, 0]
    normal = state.r[:, 0]
    areas = solid.areas("top")[state.nodes]
    inside = (normal > 0.0) & (x > 0.0)
    width, pressure = _fit(x[inside], normal[inside] / areas[inside])
    modulus = 1.0 / (1.0 - nu**2)
    if kind == "line":
        force = 2.0 * float(normal.sum())
        exact = np.sqrt(4.0 * force * RADIUS / (np.pi * modulus)), np.sqrt(force * modulus / (np.pi * RADIUS))
    else:
        force = float(normal.sum())
        a = (0.75 * force * RADIUS / modulus) ** (1.0 / 3.0)
        exact = a, 1.5 * force / (np.pi * a**2)
    return HertzContact(force, width, pressure, float(exact[0]), float(exact[1]), state)


def _fit(x: Array, pressure: Array) -> tuple[float, float]:
    """Half-width and largest pressure of p² = p₀² (1 − x²/a²), the node at the edge left out."""
    inner = np.argsort(x)[:-1] if len(x) > 3 else np.argsort(x)
    slope, top = np.polyfit(x[inner] ** 2, pressure[inner] ** 2, 1)
    return float(np.sqrt(-top / slope)), float(np.sqrt(top))


@dataclass(frozen=True)
class PartialSlip:
    """Tangential over limiting force, and the part of the contact that sticks: computed and Mindlin's."""

    load: Array
    stick: Array
    exact: Array


def partial_slip(cells: int, mu: float = 0.3, increments: int = 8) -> PartialSlip:
    """Press a cylinder on a half-space, then push it sideways below the limit of sliding."""
    half = graded(1.5 / FAR, int(1.5 * cells), 1.25)
    sides = 0.5 * np.concatenate((1.0 - half[::-1], 1.0 + half[1:]))
    sides[0], sides[-1] = 0.0, 1.0
    size = FAR * WIDTH
    mesh = block((2 * size, size), (sides, 1.0 - half[::-1]), origin=(-size, -size))
    solid = Solid(mesh=mesh, material=Elastic(young=1.0, poisson=0.499))
    depth = 0.5 * WIDTH**2 / RADIUS * (2.0 * np.log(2.0 * FAR) - 1.0)
    near = mesh.group("top")[np.abs(mesh.nodes[mesh.group("top"), 0]) <= 1.5 * WIDTH]
    solid = replace(solid, mesh=mesh.with_group("near", near))
    cylinder = RigidContact(
        surface="near", obstacle=Obstacle(Disk(RADIUS), (0.0, RADIUS)), mu=mu, motion=(0.0, -depth)
    )
    press = ElasticContact(solid=solid, supports=[Support("bottom", "xy")], contacts=[cylinder])
    push = replace(press, contacts=[replace(cylinder, motion=(1.6 * mu * depth, 0.0))])
    pressed = follow(press, increments=4).last
    load, stick, exact = [], [], []
    for state in follow(push, pressed, increments=increments).states[1:]:
        assert state.forces is not None
        tangential, normal = np.abs(state.forces.sum(axis=0))
        ratio = min(1.0, tangential / (mu * normal))
        closed = state.r[:, 0] > 0.0
        sticks = closed & (np.abs(state.r[:, 1]) < (1.0 - 1e-6) * mu * state.r[:, 0])
        x = mesh.nodes[state.nodes, 0]
        a = np.sqrt(4.0 * normal * RADIUS * (1.0 - 0.499**2) / np.pi)
        width = np.ptp(x[sticks]) + WIDTH / cells if sticks.any() else 0.0
        load.append(ratio)
        stick.append(0.5 * width / a)
        exact.append(np.sqrt(1.0 - ratio))
    return PartialSlip(np.array(load), np.array(stick), np.array(exact))


def flat_punch(cells: int, mu: float, nu: float, depth: float = 0.01) -> tuple[float, float]:
    """Edge of the stick zone under a flat punch of half-width 1: last node that sticks, first that slips.

    Examples
    --------
    >>> last, first = flat_punch(8, 0.2, 0.3)
    >>> last - 1 / 8 <= spence(0.2, 0.3) <= first + 1 / 8
    True
    """
    mesh = hertz_block(1.0, FARTHER, cells, growth=1.2)
    top = mesh.group("top")
    mesh = mesh.with_group("punched", top[mesh.nodes[top, 0] <= 1.0 + 1e-9])
    solid = Solid(mesh=mesh, material=Elastic(young=1.0, poisson=nu))
    punch = RigidContact(
        surface="punched", obstacle=Obstacle(HalfPlane((0.0, -1.0), 0.0)), mu=mu, motion=(0.0, -depth)
    )
    stage = ElasticContact(
        solid=solid, supports=[Support("left", "x"), Support("bottom", "xy")], contacts=[punch]
    )
    state = OneLoopNewton().solve(stage)
    x = mesh.nodes[state.nodes, 0]
    slips = np.abs(state.r[:, 1]) > (1.0 - 1e-7) * mu * state.r[:, 0]
    return float(x[~slips].max()), float(x[slips].min(initial=np.inf))


def spence(mu: float, nu: float) -> float:
    """c/a under a flat punch, neglecting the effect of friction on pressure (Goodman's assumption)."""
    beta = (1.0 - 2.0 * nu) / (2.0 * (1.0 - nu))
    tiny = 1e-12
    return float(brentq(lambda k: ellipk(1.0 - k**2) / ellipk(k**2) - beta / mu, tiny, 1.0 - tiny))


def coupled_punch(mu: float, nu: float, strips: int = 200) -> float:
    """c/a under a flat punch on a half-plane, with pressure and friction coupled.

    With p even and q odd in x, in units of E* = E/(1 − ν²), the surface moves by

        u_z(x) = −(2/π) ∫ p(s) ln|x − s| ds + β ∫ q(s) sgn(x − s) ds    (into the half-plane),
        u_x(x) = −(2/π) ∫ q(s) ln|x − s| ds − β ∫ p(s) sgn(x − s) ds.

    Strips of constant p and q, finer towards the edge, satisfy at their middles a common u_z under the punch
    and u_x = 0 or q = mu p; which of the two is found by exchange.

    References
    ----------
    Johnson 1985, equations 2.25 and section 5.4.

    Examples
    --------
    >>> abs(coupled_punch(0.1, 0.45) - spence(0.1, 0.45)) < 0.01  # small β: the formula holds
    True
    >>> round(coupled_punch(0.4, 0.0), 2), round(spence(0.4, 0.0), 2)
    (0.36, 0.52)
    """
    beta = (1.0 - 2.0 * nu) / (2.0 * (1.0 - nu))
    ends = np.sin(0.5 * np.pi * np.linspace(0.0, 1.0, strips + 1))
    low, high = ends[:-1], ends[1:]
    x = 0.5 * (low + high)[:, None]

    def logarithm(a: Array, b: Array) -> Array:
        """∫ ln|x − s| ds from a to b."""
        return np.asarray((x - a) * np.log(np.abs(x - a)) - (x - b) * np.log(np.abs(x - b)) - (b - a))

    def sign(a: Array, b: Array) -> Array:
        """∫ sgn(x − s) ds from a to b."""
        return np.asarray(np.clip(x - a, 0.0, b - a) - np.clip(b - x, 0.0, b - a))

    z_of_p = -2.0 / np.pi * (logarithm(low, high) + logarithm(-high, -low))
    z_of_q = beta * (sign(low, high) - sign(-high, -low))
    x_of_q = -2.0 / np.pi * (logarithm(low, high) - logarithm(-high, -low))
    x_of_p = -beta * (sign(low, high) + sign(-high, -low))
    sticks = np.ones(strips, dtype=bool)
    for _ in range(50):
        slips = np.diag(np.where(sticks, 0.0, 1.0))
        A = np.block(
            [
                [z_of_p, z_of_q, -np.ones((strips, 1))],
                [sticks[:, None] * x_of_p - mu * slips, sticks[:, None] * x_of_q + slips, x * 0.0],
                [high - low, np.zeros(strips), 0.0],
            ]
        )
        p, q, _ = np.split(np.linalg.solve(A, np.append(np.zeros(2 * strips), 0.5)), [strips, 2 * strips])
        now = np.where(sticks, np.abs(q) <= mu * p, x_of_p @ p + x_of_q @ q > 0.0)  # else it slips inwards
        if (now == sticks).all():
            break
        sticks = now
    return float(high[sticks].max(initial=0.0))


@dataclass(frozen=True, kw_only=True)
class FEHertz:
    """Hertz's and Mindlin's contacts under refinement.

    Parameters
    ----------
    finest : int
        Cells along the half-width of contact in the finest mesh.
    """

    finest: int = 32

    title: ClassVar[str] = "Hertz, Mindlin and Spence by finite elements"
    quick: ClassVar[dict[str, int]] = {"finest": 8}

    def run(self, report: Report) -> None:
        """Refine, then slide."""
        report.say(HERTZ)
        kinds: tuple[Literal["line", "point"], ...] = ("line", "point")
        for kind in kinds:
            rows = []
            for cells in (4, 8, 16, 32, 64):
                if cells > self.finest:
                    break
                found = hertz(cells, kind)
                report.tell(f"{kind}, {cells} cells")
                rows.append(
                    [
                        f"{cells}",
                        f"{100 * (found.width / found.exact_width - 1):+.2f}",
                        f"{100 * (found.pressure / found.exact_pressure - 1):+.2f}",
                        f"{found.state.iterations}",
                    ]
                )
            report.say(f"## {kind.capitalize()} contact")
            report.table(
                ["cells along a", "half-width (% off)", "pressure (% off)", "Newton iterations"], rows
            )
            for quantity, ratio in (
                ("half-width", found.width / found.exact_width),
                ("largest pressure", found.pressure / found.exact_pressure),
            ):
                report.judge(
                    of_number(
                        "Hertz (Johnson 1985, section 4.2)",
                        f"{kind} contact, {quantity} over Hertz's",
                        "1.000",
                        ratio,
                        within=0.02,
                    )
                )
            self._picture(report, kind)
        cells = min(20, self.finest)
        report.say("## Partial slip\n\n" + MINDLIN.format(cells=cells))
        slip = partial_slip(cells)
        report.table(
            ["Q / mu P", "c / a", "Mindlin"],
            [
                [f"{q:.3f}", f"{c:.3f}", f"{e:.3f}"]
                for q, c, e in zip(slip.load, slip.stick, slip.exact, strict=True)
            ],
        )

        off = float(np.abs(slip.stick - slip.exact).max())
        report.judge(
            Verdict(
                source="Mindlin 1949 (Johnson 1985, section 7.2)",
                quantity="half-width that sticks, over a: largest distance",
                printed="0",
                found=f"{off:.3f}",
                grade=f"{WITHIN} a cell of 1/{cells}" if off <= 1.0 / cells else NOT_REPRODUCED,
                why="measured between nodes",
            )
        )
        cells = min(32, 2 * self.finest)
        report.say("## Spence's punch\n\n" + SPENCE.format(cells=cells))
        rows, worst = [], 0.0
        for nu in (0.45, 0.4, 0.3, 0.0):
            for mu in (0.1, 0.2, 0.4):
                last, first = flat_punch(cells, mu, nu)
                report.tell(f"punch, nu {nu:g}, mu {mu:g}")
                coupled = coupled_punch(mu, nu)
                rows.append(
                    [
                        f"{nu:g}",
                        f"{mu:g}",
                        f"{last:.3f} … {min(first, 1.0):.3f}",
                        f"{coupled:.3f}",
                        f"{spence(mu, nu):.3f}",
                    ]
                )
                worst = max(worst, last - coupled, coupled - first)
        report.table(["ν", "mu", "c / a", "coupled", "formula"], rows)
        report.judge(
            Verdict(
                source="Spence 1973 (half-plane, coupled)",
                quantity="stick zone under a flat punch, 12 cases: largest distance, over a",
                printed="0",
                found=f"{max(worst, 0.0):.3f}",
                grade=f"{WITHIN} a cell of 1/{cells}" if worst <= 1.0 / cells else NOT_REPRODUCED,
                why="measured between nodes",
            )
        )

    def _picture(self, report: Report, kind: Literal["line", "point"]) -> None:
        found = hertz(self.finest, kind)
        mesh = hertz_block(WIDTH, FAR * WIDTH, self.finest)
        kinematics: Literal["plane strain", "axisymmetric"] = (
            "plane strain" if kind == "line" else "axisymmetric"
        )
        solid = Solid(mesh=mesh, material=Elastic(young=1.0, poisson=0.3), kinematics=kinematics)
        x, normal = mesh.nodes[found.state.nodes, 0], found.state.r[:, 0]
        with report.figure(
            f"hertz-{kind}", f"{kind.capitalize()} contact: pressure, von Mises stress"
        ) as figure:
            left, right = figure.subplots(1, 2)
            inside = (normal > 0) & (x > 0)
            left.plot(
                x[inside] / WIDTH,
                (normal / solid.areas("top")[found.state.nodes])[inside],
                "o",
                label="nodes",
            )
            line = np.linspace(0.0, found.exact_width, 200)
            exact = found.exact_pressure * np.sqrt(1.0 - (line / found.exact_width) ** 2)
            left.plot(line / WIDTH, exact, label="Hertz")
            left.set_xlabel("x / (aimed half-width)")
            left.set_ylabel("pressure / E")
            left.legend()
            draw_field(right, solid, found.state.u, solid.von_mises(found.state.u), "von Mises / E")
            right.set_xlim(0.0, 3.0 * WIDTH)
            right.set_ylim(-3.0 * WIDTH, 0.2 * WIDTH)
