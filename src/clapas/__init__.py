"""Clapas: nonsmooth contact dynamics.

Unilateral contact, Coulomb friction and impacts treated exactly, without penalty springs.

    >>> import clapas
    >>> problem = clapas.ContactProblem(W=[[1, 0, 0], [0, 1, 0], [0, 0, 1]], q=[[-0.0981, 1, 0]], mu=0.5)
    >>> solution = clapas.solve(problem)
    >>> solution.status.name
    'SOLVED'

Names are loaded when first used, so that ``import clapas`` stays quick.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from clapas.version import __version__ as __version__

if TYPE_CHECKING:
    from clapas.bodies.lagrangian import LagrangianSystem as LagrangianSystem
    from clapas.bodies.rods import Rod as Rod
    from clapas.bodies.rods import Rods as Rods
    from clapas.bodies.rods import Support as Support
    from clapas.dynamics.joints.commands import Commands as Commands
    from clapas.dynamics.joints.coordinates import joint_coordinates as joint_coordinates
    from clapas.dynamics.joints.laws import Servo as Servo
    from clapas.dynamics.joints.laws import TorqueMotor as TorqueMotor
    from clapas.dynamics.joints.laws import VelocityMotor as VelocityMotor
    from clapas.dynamics.motions import ConstantVelocity as ConstantVelocity
    from clapas.dynamics.motions import Oscillation as Oscillation
    from clapas.dynamics.motions import Rotation as Rotation
    from clapas.dynamics.motions import Table as Table
    from clapas.dynamics.schemes import MoreauJean as MoreauJean
    from clapas.dynamics.schemes import MoreauMidpoint as MoreauMidpoint
    from clapas.dynamics.schemes import QuasiStatic as QuasiStatic
    from clapas.dynamics.sleep import Sleeping as Sleeping
    from clapas.errors import Error as Error
    from clapas.errors import FormatError as FormatError
    from clapas.errors import MissingDependency as MissingDependency
    from clapas.errors import NotSolved as NotSolved
    from clapas.errors import ProblemError as ProblemError
    from clapas.errors import SceneError as SceneError
    from clapas.errors import SettingsError as SettingsError
    from clapas.geometry.shapes import Box as Box
    from clapas.geometry.shapes import Capsule as Capsule
    from clapas.geometry.shapes import Clump as Clump
    from clapas.geometry.shapes import Cylinder as Cylinder
    from clapas.geometry.shapes import Disk as Disk
    from clapas.geometry.shapes import HalfPlane as HalfPlane
    from clapas.geometry.shapes import Plane as Plane
    from clapas.geometry.shapes import Point as Point
    from clapas.geometry.shapes import Polygon as Polygon
    from clapas.geometry.shapes import Polyhedron as Polyhedron
    from clapas.geometry.shapes import Sphere as Sphere
    from clapas.geometry.shapes import TriangleMesh as TriangleMesh
    from clapas.io import read as read
    from clapas.io import read_problem as read_problem
    from clapas.io import write as write
    from clapas.io.recording import Recording as Recording
    from clapas.io.simulation import Simulation as Simulation
    from clapas.io.simulation import resume as resume
    from clapas.io.simulation import simulate as simulate
    from clapas.problems import ContactProblem as ContactProblem
    from clapas.problems import gallery as gallery
    from clapas.problems import reduce as reduce
    from clapas.problems import split as split
    from clapas.scenes.regions import BoxRegion as BoxRegion
    from clapas.scenes.regions import DiscRegion as DiscRegion
    from clapas.scenes.scene import Scene as Scene
    from clapas.solvers import NSGS as NSGS
    from clapas.solvers import AcceleratedProjection as AcceleratedProjection
    from clapas.solvers import AlartCurnier as AlartCurnier
    from clapas.solvers import Auto as Auto
    from clapas.solvers import Coloured as Coloured
    from clapas.solvers import ConicFixedPoint as ConicFixedPoint
    from clapas.solvers import DeSaxce as DeSaxce
    from clapas.solvers import Exact as Exact
    from clapas.solvers import Given as Given
    from clapas.solvers import Haslinger as Haslinger
    from clapas.solvers import InteriorPoint as InteriorPoint
    from clapas.solvers import ProximalPoint as ProximalPoint
    from clapas.solvers import SemismoothNewton as SemismoothNewton
    from clapas.solvers import Shuffled as Shuffled
    from clapas.solvers import Solution as Solution
    from clapas.solvers import solve as solve
    from clapas.status import Status as Status

_HOMES = {
    "clapas.errors": ("Error FormatError MissingDependency NotSolved ProblemError SceneError SettingsError"),
    "clapas.bodies.lagrangian": "LagrangianSystem",
    "clapas.bodies.rods": "Rod Rods Support",
    "clapas.dynamics.joints.commands": "Commands",
    "clapas.dynamics.joints.coordinates": "joint_coordinates",
    "clapas.dynamics.joints.laws": "Servo TorqueMotor VelocityMotor",
    "clapas.dynamics.motions": "ConstantVelocity Oscillation Rotation Table",
    "clapas.scenes.regions": "BoxRegion DiscRegion",
    "clapas.scenes.scene": "Scene",
    "clapas.dynamics.sleep": "Sleeping",
    "clapas.dynamics.schemes": "MoreauJean MoreauMidpoint QuasiStatic",
    "clapas.geometry.shapes": (
        "Box Capsule Clump Cylinder Disk HalfPlane Plane Point Polygon Polyhedron Sphere TriangleMesh"
    ),
    "clapas.io": "read read_problem write",
    "clapas.io.recording": "Recording",
    "clapas.io.simulation": "Simulation resume simulate",
    "clapas.problems": "ContactProblem gallery reduce split",
    "clapas.solvers": (
        "NSGS AcceleratedProjection AlartCurnier Auto Coloured ConicFixedPoint DeSaxce Exact Given Haslinger "
        "InteriorPoint ProximalPoint SemismoothNewton Shuffled Solution solve"
    ),
    "clapas.status": "Status",
}
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}

__all__ = ["__version__", *sorted(_HOME)]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'clapas' has no attribute '{name}'")
    if name == "gallery":
        value: Any = import_module("clapas.problems.gallery")
    else:
        value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__


def _show_in_notebooks() -> None:
    """Let objects show themselves where a notebook is running."""
    shell = sys.modules["IPython"].get_ipython()
    if shell is not None:
        from clapas.viewer.notebook import register

        register(shell.display_formatter.formatters["text/html"])


if "IPython" in sys.modules:
    _show_in_notebooks()
