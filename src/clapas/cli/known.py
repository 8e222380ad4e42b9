"""Known facts about the solutions of a gallery problem, in words and for machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clapas.problems.gallery import GalleryProblem, Known


def in_words(known: Known) -> str:
    """What is known, in a few words."""
    if known.exists is None:
        return "not known whether a solution exists"
    if known.exists is False:
        return "no solution exists"
    count = len(known.solutions)
    words = [f"{count} solution{'' if count == 1 else 's'}"] if count else []
    words += ["a continuum"] if known.continuum else []
    if not words:
        return "a solution exists"
    return " and ".join(words) + ("" if known.complete else ", perhaps others")


def as_dict(entry: GalleryProblem) -> dict[str, Any]:
    """An entry of the gallery without its arrays."""
    known = entry.known
    return {
        "name": entry.name,
        "contacts": entry.problem.n_contacts,
        "d": entry.problem.d,
        "form": entry.problem.form,
        "description": entry.description,
        "reference": entry.reference,
        "known": {
            "exists": known.exists,
            "solutions": len(known.solutions),
            "continuum": known.continuum.description if known.continuum else None,
            "complete": known.complete,
        },
    }
