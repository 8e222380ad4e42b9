"""Pictures of the page on trusses: ``python docs/make_trusses.py``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from make_gallery import compress
from matplotlib.figure import Figure

from clapas.analysis.trusses import axes_for, draw_state, draw_truss
from clapas.bodies.trusses import Group, Material, Section, Truss
from clapas.bodies.trusses.generators import cable_net, grid, six_strut_ball
from clapas.statics.trusses import ArcLength, LargeDisplacements

FOLDER = Path(__file__).parent / "_static" / "trusses"


def save(figure: Figure, name: str) -> None:
    """Write a figure, compressed."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    figure.savefig(FOLDER / f"{name}.png", dpi=110)
    compress(FOLDER / f"{name}.png")


def make_grid() -> None:
    """The grid under load."""
    truss = grid(8, load=160)
    figure = Figure(figsize=(8, 5), layout="constrained")
    draw_state(axes_for(figure, truss), LargeDisplacements().solve(truss, "down"), scale=2)
    save(figure, "grid")


def make_snap() -> None:
    """The path of a shallow arch."""
    bar = Group(name="bar", kind="bar", material=Material(young=1e9), section=Section(area=1e-4))
    arch = Truss(
        nodes=[[-1, 0], [0, 0.3], [1, 0]],
        members=[[0, 1], [1, 2]],
        groups=[bar],
        group=[0, 0],
        is_blocked=[[1, 1], [0, 0], [1, 1]],
        cases={"top": [[0, 0], [0, -1], [0, 0]]},
    )
    path = ArcLength(step=0.01, points=80).follow(arch, "top", until=1500)
    deflection = -path.displacements[:, 1, 1]
    figure = Figure(figsize=(6, 3.6), layout="constrained")
    axes = figure.subplots()
    axes.plot(deflection, path.factors, color="#7f8c8d", linewidth=1)
    for stable, label, colour in ((True, "stable", "#1f4e79"), (False, "unstable", "#c0392b")):
        shown = np.where(path.is_stable == stable, path.factors, np.nan)
        axes.plot(deflection, shown, ".", label=label, color=colour)
    axes.set(xlabel="deflection (m)", ylabel="load (N)")
    axes.legend()
    save(figure, "snap")


def make_forms() -> None:
    """A net and a ball."""
    figure = Figure(figsize=(8, 3.6), layout="constrained")
    for place, truss in ((121, cable_net(8, rise=3.0)), (122, six_strut_ball())):
        draw_truss(axes_for(figure, truss, place), truss)
    save(figure, "forms")


if __name__ == "__main__":
    make_grid()
    make_snap()
    make_forms()
