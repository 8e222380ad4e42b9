"""Measures on recordings and live states: how forces travel, how grains are packed, how a heap leans.

Every measure takes an :class:`Instant`, returns plain arrays or a small frozen dataclass, and has one
function beside it that draws it on matplotlib axes. Stresses are positive in compression, as for soils.
"""

from clapas.analysis.instant import Instant

__all__ = ["Instant"]
