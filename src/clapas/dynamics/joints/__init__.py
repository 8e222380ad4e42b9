"""Joints between rigid bodies: definitions, rows in a step, correction of drift, reactions."""
