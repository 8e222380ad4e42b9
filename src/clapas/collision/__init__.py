"""Which bodies touch, where, and how deep: from positions to contacts.

>>> from clapas.collision import Detector
"""

from __future__ import annotations

from clapas.collision.detector import Detector

__all__ = ["Detector"]
