"""Pictures of deformed meshes, coloured by a nodal field."""

from __future__ import annotations

from typing import Any

import numpy as np

from clapas.bodies.elastic import Solid
from clapas.typing import Array


def draw_field(axes: Any, solid: Solid, u: Array, values: Array, label: str, magnify: float = 1.0) -> None:
    """Draw a plane solid displaced by u (n_dof,), magnified, and coloured by values (n_nodes,)."""
    position = solid.mesh.nodes + magnify * u.reshape(-1, solid.d)
    corners = {"T3": 3, "T6": 3, "Q4": 4, "Q8": 4}
    triangles, outlines = [], []
    for name, rows in solid.mesh.cells.items():
        own = rows[:, : corners[name]]
        outlines.append(position[np.column_stack((own, own[:, 0]))])
        triangles.append(own[:, :3])
        if own.shape[1] == 4:
            triangles.append(own[:, [0, 2, 3]])
    colours = axes.tripcolor(
        position[:, 0], position[:, 1], np.concatenate(triangles), values, shading="gouraud", cmap="viridis"
    )
    if solid.mesh.n_cells <= 2000:
        for lines in outlines:
            for line in lines:
                axes.plot(line[:, 0], line[:, 1], color="white", linewidth=0.2)
    axes.figure.colorbar(colours, ax=axes, label=label, shrink=0.7)
    axes.set_aspect("equal")
