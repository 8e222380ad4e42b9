"""Collision detection: the contacts of bodies at given positions, with normals and gaps.

>>> from clapas.collision import Detector
"""

from __future__ import annotations

from clapas.collision.detector import Detector

__all__ = ["Detector"]
