"""Pictures of trusses: loaded over unloaded shape, forces as line widths, slack cables in another colour."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from clapas.bodies.trusses.structure import Truss
from clapas.io.pictures import save_figure
from clapas.statics.trusses import Equilibrium, check_members
from clapas.typing import Array

COMPRESSION, TENSION, SLACK, NONE, SHADOW = "#1f4e79", "#c0392b", "#27ae60", "#7f8c8d", "#c9ced6"
WIDEST, THINNEST = 4.5, 0.6  # points
FEW = 40  # largest number of members drawn as points
SUPPORT = "#2c3e50"


def axes_for(figure: Any, truss: Truss, place: Any = 111) -> Any:
    """Axes for a structure, in the plane or in space, with equal scales."""
    if truss.d == 2:
        axes = figure.add_subplot(place)
        axes.set_aspect("equal")
    else:
        axes = figure.add_subplot(place, projection="3d")
        axes.view_init(elev=32, azim=-60)
    axes.set_axis_off()
    return axes


def draw_truss(axes: Any, truss: Truss, forces: Array | None = None, positions: Array | None = None) -> None:
    """Members coloured by sign of force and as wide as the force is large.

    Parameters
    ----------
    axes : matplotlib axes
        From :func:`axes_for`.
    truss : Truss
        The structure.
    forces : array (m,), optional
        Axial forces (N); the prestress by default.
    positions : array (n × d), optional
        Positions of the nodes in the picture (m); the given shape by default.
    """
    t = truss.prestress if forces is None else forces
    x = truss.nodes if positions is None else positions
    largest = float(np.abs(t).max(initial=0.0)) or 1.0
    widest = max(
        2.0 * THINNEST, WIDEST * min(1.0, (100 / truss.n_members) ** 0.4)
    )  # many members: thinner lines
    width = THINNEST + (widest - THINNEST) * np.abs(t) / largest
    slack = truss.is_cable & (t <= 0.0)
    idle = ~truss.is_cable & (t == 0.0)
    colour = np.where(slack, SLACK, np.where(idle, NONE, np.where(t > 0.0, TENSION, COMPRESSION)))
    width = np.where(slack, np.maximum(width, 2.0 * THINNEST), width)  # without force, but visible
    order = np.argsort(slack, kind="stable")  # slack cables on top
    _lines(axes, x[truss.members[order]], colors=colour[order].tolist(), linewidths=width[order].tolist())
    supported = truss.is_blocked.any(axis=1)
    if supported.any():
        axes.scatter(*x[supported].T, marker="^" if truss.d == 2 else "s", s=18, color=SUPPORT)
    _limits(axes, x)


def draw_state(axes: Any, state: Equilibrium, scale: float = 1.0) -> None:
    """The loaded shape, displacements times ``scale``, over the unloaded one in grey."""
    truss = state.truss
    _lines(axes, truss.nodes[truss.members], colors=SHADOW, linewidths=0.7)
    moved = truss.nodes + scale * state.displacements
    draw_truss(axes, truss, state.forces, moved)
    _limits(axes, np.concatenate((truss.nodes, moved)))
    shown = "" if scale == 1.0 else f", displacements × {scale:g}"
    axes.set_title(f"{truss.name or 'truss'}, {state.case or 'no load'}{shown}", fontsize="medium")
    _legend(axes, bool(state.is_slack.any()))


def draw_motion(axes: Any, truss: Truss, motion: Array, share: float = 0.15) -> None:
    """A mechanism or a mode (n × d) over the structure in grey, drawn at a share of its size."""
    size = float(np.ptp(truss.nodes, axis=0).max())
    moved = truss.nodes + share * size * motion / (float(np.abs(motion).max()) or 1.0)
    _lines(axes, truss.nodes[truss.members], colors=SHADOW, linewidths=0.9)
    _lines(axes, moved[truss.members], colors=TENSION, linewidths=1.4)
    _limits(axes, np.concatenate((truss.nodes, moved)))


def draw_sorted_forces(axes: Any, states: dict[str, Equilibrium]) -> None:
    """Cable forces in ascending order, one curve per state."""
    for label, state in states.items():
        forces = np.sort(state.forces[state.truss.is_cable]) / 1e3
        axes.plot(forces, marker=_marker(len(forces)), label=label)
    axes.set(xlabel="cables, sorted", ylabel="force (kN)")
    axes.legend(fontsize="small")


def _marker(count: int) -> str:
    """Points for few members, as a line through one is invisible."""
    return "o" if count <= FEW else ""


def draw_utilisation(axes: Any, state: Equilibrium) -> None:
    """Share of strength used by each member, sorted, by group; above 1 a member fails."""
    truss, used = state.truss, check_members(state).utilisation
    for number, group in enumerate(truss.groups):
        values = np.sort(used[truss.group == number])
        axes.plot(np.linspace(0, 1, len(values)), values, marker=_marker(len(values)), label=group.name)
    axes.axhline(1.0, color=SUPPORT, linewidth=0.8, linestyle="--")
    axes.set(xlabel="share of the members", ylabel="utilisation")
    axes.legend(fontsize="small")


def save_picture(path: str | os.PathLike[str], state: Equilibrium, scale: float = 1.0) -> Path:
    """Draw a state into a picture file."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 5.5), layout="constrained")
    draw_state(axes_for(figure, state.truss), state, scale)
    save_figure(figure, path, 130)
    return Path(path)


def save_chart(path: str | os.PathLike[str], states: Sequence[Equilibrium]) -> Path:
    """Draw the sorted cable forces of some states, and the utilisation of the last, into a picture file."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 4.0), layout="constrained")
    left, right = figure.subplots(1, 2)
    draw_sorted_forces(left, {state.case or "no load": state for state in states})
    draw_utilisation(right, states[-1])
    right.set_title(states[-1].case or "no load", fontsize="medium")
    save_figure(figure, path, 130)
    return Path(path)


def save_motion(path: str | os.PathLike[str], truss: Truss, motion: Array, title: str = "mechanism") -> Path:
    """Draw a mechanism or a mode into a picture file."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 5.5), layout="constrained")
    axes = axes_for(figure, truss)
    draw_motion(axes, truss, motion)
    axes.set_title(title, fontsize="medium")
    save_figure(figure, path, 130)
    return Path(path)


def _lines(axes: Any, segments: Array, **style: Any) -> None:
    from matplotlib.collections import LineCollection
    from mpl_toolkits.mplot3d.art3d import Line3DCollection

    kind: Any = LineCollection if segments.shape[2] == 2 else Line3DCollection
    axes.add_collection(kind(segments, capstyle="round", clip_on=False, **style))


def _limits(axes: Any, x: Array) -> None:
    low, high = x.min(axis=0), x.max(axis=0)
    margin = 0.03 * float((high - low).max())
    axes.set(xlim=(low[0] - margin, high[0] + margin), ylim=(low[1] - margin, high[1] + margin))
    if x.shape[1] == 3:
        axes.set_zlim(low[2] - margin, high[2] + margin)
        axes.set_box_aspect(np.maximum(high - low, margin), zoom=1.2)


def _legend(axes: Any, any_slack: bool) -> None:
    from matplotlib.lines import Line2D

    rows = [("tension", TENSION), ("compression", COMPRESSION), ("unloaded shape", SHADOW)]
    rows += [("slack cable", SLACK)] if any_slack else []
    handles = [Line2D([], [], color=colour, label=label, linewidth=2) for label, colour in rows]
    axes.legend(handles=handles, fontsize="small", loc="upper right", frameon=False)
