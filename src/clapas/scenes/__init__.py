"""Scenes: their description, their files, and their simulation."""
