"""Measures on recordings and live states: force transmission, packing, slopes of heaps.

Every measure takes an :class:`Instant`, returns plain arrays or a small frozen dataclass, and has one
function beside it that draws it on matplotlib axes. Stresses are positive in compression, as for soils.
"""

from clapas.analysis.instant import Instant

__all__ = ["Instant"]
