"""Meshes of finite elements from and to files; see :mod:`clapas.bodies.elastic.files`."""

from clapas.bodies.elastic.files import read_mesh, write_mesh

__all__ = ["read_mesh", "write_mesh"]
