"""Trusses in files: TOML and JSON, CSV tables, DXF lines, COMPAS networks, meshes; results to VTK and CSV."""

from clapas.bodies.trusses.document import read_groups
from clapas.io.trusses.files import read_truss, write_truss
from clapas.io.trusses.results import write_result

__all__ = ["read_groups", "read_truss", "write_result", "write_truss"]
