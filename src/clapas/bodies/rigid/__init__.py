"""Rigid bodies: Newton and Euler in body frames, with constant diagonal mass."""
