"""A row of elastic elements on a plane: the contact problem of Alart's Figure 3."""

from __future__ import annotations

import numpy as np

from clapas.bodies.elastic import Elastic, Solid, block
from clapas.problems import ContactProblem


def strip(
    elements: int, press: float = 1.0, shear: float = 0.0, mu: float = 0.0, nu: float = 0.3
) -> ContactProblem:
    """A row of unit square elements held at its upper side and pushed on a plane by its lower nodes.

    Bilinear elements in plane strain, Young's modulus 1, Poisson's ratio ``nu``. A static problem: M is the
    stiffness, v a displacement, r a force. The lower nodes are displaced down and up in waves of height
    ``press`` and sideways by ``shear``: nodes open, stick and slide.

    Examples
    --------
    >>> from clapas.problems import reduce
    >>> reduce(strip(2)).W.toarray()[::2, ::2].round(4)
    array([[ 2.2143, -0.1424, -0.0714],
           [-0.1424,  0.8916, -0.1424],
           [-0.0714, -0.1424,  2.2143]])
    """
    mesh = block((float(elements), 1.0), (elements, 1))
    solid = Solid(mesh=mesh, material=Elastic(young=1.0, poisson=nu), bbar=False)
    nodes = elements + 1
    lower = 2 * nodes  # unknowns: two displacements of each lower node; the upper ones are held
    K = solid.stiffness[:lower, :lower].toarray()
    H = np.zeros((lower, lower))
    H[0::2, 1::2] = np.eye(nodes)  # normal: upwards
    H[1::2, 0::2] = np.eye(nodes)
    place = np.linspace(-1.0, 1.0, nodes)
    load = np.column_stack((np.full(nodes, shear), -press * (0.3 + np.cos(2.5 * np.pi * place))))
    return ContactProblem(
        M=K, H=H, f=-load.ravel(), w=np.zeros((nodes, 2)), mu=mu, d=2, name=f"strip-{elements}"
    )
