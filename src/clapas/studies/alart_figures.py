"""Alart's figures: regions, the iterate each leads to, and the paths between them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from clapas.solvers.newton.augmentation import node_bound
from clapas.solvers.newton.piecewise import (
    elastoplastic_spring,
    katzenelson_path,
    newton_path,
    node_with_friction,
    reduced_springs,
)
from clapas.studies.alart_limits import MATERIAL
from clapas.studies.regions import Steps, cycles, path_from, steps
from clapas.studies.report import Report
from clapas.typing import Array


def draw_regions(axes: Any, map_: Steps, r: float) -> None:
    """Regions in the plane of γ, the iterate each leads to, the arrows between them, one path in full."""
    points = {region: step.point[2:] + r * step.point[:2] for region, step in map_.items()}
    for edge in (-1.0, 1.0):
        axes.axhline(edge, color="0.8", lw=1)
        axes.axvline(edge, color="0.8", lw=1)
    for region, step in map_.items():
        _arrow(axes, points[region], points[step.region], color="0.6", ls=":")
    loops = cycles(map_)
    start = loops[0][0] if loops else max(map_, key=lambda region: len(path_from(region, map_)))
    for here, there in pairwise(path_from(start, map_)):
        _arrow(axes, points[here], points[there], color="C3" if loops else "C0", ls="-")
    axes.plot(*np.array(list(points.values())).T, "ko", ms=4)
    title = f"cycle of order {len(loops[0])}" if loops else "converges from everywhere"
    axes.set(title=f"r = {r:g}: {title}", xlabel="γ₁", ylabel="γ₂")


def _arrow(axes: Any, start: Array, end: Array, color: str, ls: str) -> None:
    if not np.allclose(start, end):
        axes.annotate("", xy=end, xytext=start, arrowprops={"arrowstyle": "->", "color": color, "ls": ls})


def katzenelson(report: Report) -> None:
    """Figure 1: a path that stops at borders, and its image."""
    C = np.array([[1.0, 0.5], [0.5, 2.0]])
    equation = node_with_friction(np.linalg.inv(C), np.array([-1.0, 0.8]), 0.4, 0.3)
    path = katzenelson_path(equation, np.array([0.0, 0.0, 3.0, 4.0]))
    gamma = np.array([equation.gamma @ x for x in path.points])
    image = np.array([equation.value(x)[2:] for x in path.points])
    direction = image[0] / np.linalg.norm(image[0])
    off = float(np.abs(image @ np.array([-direction[1], direction[0]])).max())
    report.say("## Damping at the borders of regions (figure 1)")
    report.say(
        f"One node with friction, {path.iterations} steps: the iterates make a broken line, their image a "
        f"straight "
        f"segment to zero (largest distance from it {off:.0e})."
    )
    with report.figure("katzenelson", "Katzenelson's path and its image", (9, 4)) as figure:
        left, right = figure.subplots(1, 2)
        left.plot(*gamma.T, "o-")
        left.set(title="iterates", xlabel="γ_n", ylabel="γ_t")
        right.plot(*image.T, "o-")
        right.plot(0, 0, "k+")
        right.set(title="image", xlabel="F_n", ylabel="F_t")


def kinds(report: Report) -> None:
    """Figures 4 to 7: the scalar function of the first and of the second kind."""
    report.say("## Functions of the first and second kind (figures 4 to 7, theorems 5 and 6)")
    report.say(
        "G(γ) = γ/(1 − r/a) + g − proj(γ, [−1, 1]) of one spring, a = 1. For r < a the slope is least in the "
        "middle (first kind): Newton's method converges from everywhere. For r > a it is largest there "
        "(second kind): "
        "it converges while the slopes differ by less than a factor two, r < 2a, and beyond it jumps for "
        "ever "
        "between the two outer pieces."
    )
    with report.figure("kinds", "G(γ), first kind (left), second kind (middle, right)", (11, 3.5)) as figure:
        for axes, r in zip(figure.subplots(1, 3), (0.5, 1.5, 2.5), strict=True):
            equation = reduced_springs([[1.0]], [0.0], 1.0, r)
            gamma = np.linspace(-4.0, 4.0, 401)
            axes.plot(gamma, [equation.value(np.array([x]))[0] for x in gamma])
            path = newton_path(equation, np.array([3.0]))
            for here, there in pairwise([x[0] for x in path.points[:5]]):
                axes.plot([here, there], [equation.value(np.array([here]))[0], 0.0], "C1-", lw=0.8)
            title = "converges" if path.is_solved else f"cycle of order {path.cycle}"
            axes.axhline(0, color="0.7", lw=0.8)
            axes.set(title=f"r = {r:g} a: {title}", xlabel="γ")


def cones(report: Report) -> None:
    """Figures 13 and 14: the four cones of one node, and the Newton iterate from each."""
    C, load, mu = np.array([[1.0, 0.5], [0.5, 2.0]]), np.array([-1.0, 0.3]), 0.4
    report.say("## Cones of linearity of one node (figures 13 and 14)")
    report.say(
        "The plane of γ is cut into gap (γ_n > 0), stick, and the two slips. The iterate of a region does "
        "not depend on "
        "where in it one starts; a solution that takes off has no cycle, whatever r."
    )
    with report.figure("cones", "Regions and iterates of one node, r below and above (74)", (9, 4)) as figure:
        bound = float(node_bound(C[None])[0])
        for axes, share in zip(figure.subplots(1, 2), (0.5, 3.0), strict=True):
            equation = node_with_friction(np.linalg.inv(C), load, mu, share * bound)
            map_ = steps(equation)
            points = {region: equation.gamma @ step.point for region, step in map_.items()}
            reach = 1.3 * max(float(np.abs(list(points.values())).max()), 1.0)
            axes.plot([0, 0], [-reach, reach], "0.6")
            for sign in (-1.0, 1.0):
                axes.plot([0, -reach], [0, sign * mu * reach], "0.6")
            for region, step in map_.items():
                _arrow(axes, points[region], points[step.region], color="C0", ls="-")
            axes.plot(*np.array(list(points.values())).T, "ko", ms=4)
            loops = cycles(map_)
            title = f"cycle of order {len(loops[0])}" if loops else "converges"
            axes.set(title=f"r = {share:g} of the bound: {title}", xlabel="γ_n", ylabel="γ_t")


def plastic_regions(report: Report) -> None:
    """Figures 15 and 16: nine regions in the plane (u, λ)."""
    report.say("## The plastic oscillator (figures 15 and 16)")
    report.say(
        "A(u) is linear by three pieces and friction by three: nine regions in the plane of (u, λ), cut by "
        "the two "
        "yield displacements and the two lines λ + r u = ± mu |f_n|."
    )
    with report.figure("plastic", "Nine regions, r below and above (77)", (9, 4)) as figure:
        alpha = 0.1
        bound = float(MATERIAL.bound(1.0, alpha))
        for axes, share in zip(figure.subplots(1, 2), (0.9, 1.2), strict=True):
            r = share * bound
            map_ = steps(elastoplastic_spring(MATERIAL, alpha, 0.0, r), size=100.0)
            limit = MATERIAL.yield_force / (MATERIAL.stiffness + MATERIAL.hardening)
            points = {region: step.point for region, step in map_.items()}
            reach = 1.3 * float(np.abs([point[0] for point in points.values()]).max())
            u = np.linspace(-reach, reach, 2)
            for sign in (-1.0, 1.0):
                axes.axvline(sign * limit, color="0.7")
                axes.plot(u, sign * alpha - r * u, "0.7")
            for region, step in map_.items():
                _arrow(axes, points[region], points[step.region], color="C0", ls="-")
            axes.plot(*np.array(list(points.values())).T, "ko", ms=4)
            loops = cycles(map_)
            title = f"cycle of order {len(loops[0])}" if loops else "converges"
            axes.set(title=f"r = {share:g} of (77): {title}", xlabel="u", ylabel="λ")
