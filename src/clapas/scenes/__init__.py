"""Scenes: what people write down, the files of it, and its life as a simulation."""
