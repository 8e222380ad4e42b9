"""Joints between rigid bodies: what they are, their rows in a step, drift, reactions."""
