"""Exact distance of one pair: one kernel per group of kinds."""
