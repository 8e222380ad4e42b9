"""Shapes of bodies, mass properties, rotations, and the tables used by collision detection."""
