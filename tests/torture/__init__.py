"""Hostile data with seeds: nothing false is said, nothing is raised that is not ours, nothing hangs."""
