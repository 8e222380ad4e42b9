"""The studies by name: reproductions of published results, each a command."""

from __future__ import annotations

from importlib import import_module
from typing import Any, ClassVar, Protocol

from clapas.errors import unknown_name
from clapas.studies.report import Report


class Study(Protocol):
    """A study: a frozen dataclass whose fields are its settings."""

    title: ClassVar[str]
    quick: ClassVar[dict[str, Any]]  # settings of a short run

    def run(self, report: Report) -> None:
        """Run the study and write its report."""
        ...


_STUDIES = {
    "thesis-small": "clapas.studies.thesis:ThesisSmall",
    "thesis-large": "clapas.studies.thesis:ThesisLarge",
    "alart": "clapas.studies.alart:AlartCycles",
    "convergence": "clapas.studies.convergence:Convergence",
    "heap": "clapas.studies.heap:Heap",
    "indeterminacy": "clapas.studies.indeterminacy:Indeterminacy",
    "masonry": "clapas.studies.masonry:Masonry",
    "repose": "clapas.studies.repose:Repose",
    "drum": "clapas.studies.drum:Drum",
    "shear": "clapas.studies.shear:Shear",
    "biaxial": "clapas.studies.biaxial:Biaxial",
    "lcp-rectangle": "clapas.studies.lcp_rectangle:LCPRectangle",
    "lcp-punch": "clapas.studies.lcp_punch:LCPPunch",
    "lcp-friction": "clapas.studies.lcp_friction:LCPFriction",
    "granular-lcp": "clapas.studies.granular_lcp:GranularLCP",
    "tensegrity": "clapas.studies.tensegrity:Tensegrity",
    "latin": "clapas.studies.latin:Latin",
    "painleve": "clapas.studies.painleve:Painleve",
    "existence": "clapas.studies.existence:ExistenceCriterion",
    "cuts": "clapas.studies.cuts:Cuts",
    "fe-signorini": "clapas.studies.fe_signorini:FESignorini",
    "fe-hertz": "clapas.studies.fe_hertz:FEHertz",
    "fe-impact": "clapas.studies.fe_impact:FEImpact",
    "fe-drawing": "clapas.studies.fe_drawing:FEDrawing",
    "rods": "clapas.studies.rods:RodTables",
    "scaling": "clapas.studies.scaling:Scaling",
}


UNPUBLISHED = frozenset({"repose", "biaxial", "scaling"})
"""Studies that reproduce no publication, and have no verdicts."""


def names() -> tuple[str, ...]:
    """Names of the studies."""
    return tuple(_STUDIES)


def find(name: str) -> type[Any]:
    """The study of that name.

    Examples
    --------
    >>> find("thesis-small").__name__
    'ThesisSmall'
    """
    if name not in _STUDIES:
        raise unknown_name("study", name, _STUDIES)
    module, _, label = _STUDIES[name].partition(":")
    found: type[Any] = getattr(import_module(module), label)
    return found
