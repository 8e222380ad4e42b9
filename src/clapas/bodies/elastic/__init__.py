"""Deformable bodies by finite elements: meshes, materials, assembly."""
