"""Pictures of trusses show what they say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from clapas.analysis import trusses as pictures
from clapas.bodies.trusses import Truss, kinematics
from clapas.bodies.trusses.generators import grid, kite, module
from clapas.statics.trusses import SmallDisplacements


def drawn(truss: Truss, **changes: object) -> Figure:
    figure = Figure()
    pictures.draw_truss(pictures.axes_for(figure, truss), truss, **changes)
    return figure


def test_forces_are_colours_and_widths() -> None:
    truss = kite()
    forces = np.array([-3.0, 1.5, 0.0, 2.0, 0.0, 1.0])
    lines = drawn(truss, forces=forces).axes[0].collections[0]
    order = [0, 1, 3, 5, 2, 4]  # slack cables last, on top
    expected = [pictures.COMPRESSION] + [pictures.TENSION] * 3 + [pictures.SLACK] * 2
    assert [tuple(c) for c in lines.get_colors()] == [to_rgba(c) for c in expected]
    widths = dict(zip(order, lines.get_linewidths(), strict=True))
    assert widths[0] == pytest.approx(pictures.WIDEST)
    assert widths[0] > widths[3] > widths[1] > widths[5]


@pytest.mark.parametrize("truss", [kite(), grid(2, load=2000.0)], ids=repr)
def test_states_and_motions_are_saved(truss: Truss, tmp_path: Path) -> None:
    state = SmallDisplacements().solve(truss, next(iter(truss.cases)))
    assert pictures.save_picture(tmp_path / "state.png", state, scale=5.0).stat().st_size > 5_000
    figure = Figure()
    axes = figure.subplots(2)
    pictures.draw_sorted_forces(axes[0], {"one": state})
    pictures.draw_utilisation(axes[1], state)
    assert len(axes[1].lines) == len(truss.groups) + 1
    curve = axes[0].lines[0].get_ydata()
    np.testing.assert_allclose(curve, np.sort(state.forces[truss.is_cable]) / 1e3)


def test_a_mechanism_of_the_module(tmp_path: Path) -> None:
    truss = module()
    motion = truss.displacements(kinematics(truss).internal[:, 0])
    assert pictures.save_motion(tmp_path / "motion.png", truss, motion).stat().st_size > 5_000
