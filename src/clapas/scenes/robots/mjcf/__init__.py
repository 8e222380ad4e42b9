"""MJCF, the XML format of MuJoCo."""

from clapas.scenes.robots.mjcf.reader import read_mjcf

__all__ = ["read_mjcf"]
