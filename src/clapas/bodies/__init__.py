"""Kinds of bodies: their mass matrices, free motion and contact rows."""
