"""Narrow phase: contacts of one pair, with one kernel per group of pairs."""
