"""Shapes of bodies, their mass properties, rotations, and the tables collision works on."""
