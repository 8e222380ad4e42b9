"""Named contact problems: paradoxes of the theory, textbook cases, random families, large packings.

>>> from clapas.problems import gallery
>>> rod = gallery.get("painleve-down-none")
>>> rod.problem
ContactProblem('painleve-down-none', 1 contact in 2-D, global, 1 dof)
>>> rod.known.exists
False

Problems are built on request. The generators make others of the same families.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from functools import cache

from clapas.errors import ProblemError
from clapas.problems.gallery import one_contact, packings, painleve, small, stacks
from clapas.problems.gallery.alart import catalogue as _alart
from clapas.problems.gallery.alart import elastic_node, elastic_row
from clapas.problems.gallery.alea import alea
from clapas.problems.gallery.alea import catalogue as _alea
from clapas.problems.gallery.entry import Continuum, GalleryProblem, Known
from clapas.problems.gallery.packings import SpherePacking, sphere_packing
from clapas.problems.gallery.painleve import painleve_rod
from clapas.problems.gallery.rectangle import elastic_rectangle
from clapas.problems.gallery.small import (
    crushed_disc,
    inclined_plane,
    mass_spring_stop,
    near_singular,
    wedged_bar,
)
from clapas.problems.gallery.stacks import Masonry, box_stack, brick_wall, pyramid, tower
from clapas.problems.gallery.subset_sum import catalogue as _subset_sum
from clapas.problems.gallery.subset_sum import subset_sum

__all__ = [
    "Continuum",
    "GalleryProblem",
    "Known",
    "Masonry",
    "SpherePacking",
    "alea",
    "all_problems",
    "box_stack",
    "brick_wall",
    "crushed_disc",
    "elastic_node",
    "elastic_rectangle",
    "elastic_row",
    "families",
    "get",
    "inclined_plane",
    "mass_spring_stop",
    "names",
    "near_singular",
    "painleve_rod",
    "pyramid",
    "small_problems",
    "sphere_packing",
    "subset_sum",
    "tower",
    "wedged_bar",
]

Builder = Callable[[], GalleryProblem]

SMALL_FAMILIES = ("one-contact", "painleve", "small", "subset-sum", "alart")


@cache
def _catalogues() -> dict[str, dict[str, Builder]]:
    return {
        "one-contact": one_contact.catalogue(),
        "painleve": painleve.catalogue(),
        "small": small.catalogue(),
        "subset-sum": _subset_sum(),
        "alart": _alart(),
        "stacks": stacks.catalogue(),
        "alea": _alea(),
        "packings": packings.catalogue(),
    }


def families() -> tuple[str, ...]:
    """The families of the gallery."""
    return tuple(_catalogues())


def names(family: str | None = None) -> tuple[str, ...]:
    """Names of the problems, of one family or of all.

    Examples
    --------
    >>> names("packings")
    ('packing-100', 'packing-1000', 'packing-10000', 'packing-plane-100', 'packing-plane-1000')
    """
    return tuple(_builders(family))


def get(name: str) -> GalleryProblem:
    """Build the problem of that name.

    Examples
    --------
    >>> get("one-stick").known.solutions[0].tolist()
    [[1.0, -0.3, -0.1]]
    """
    builders = _builders(None)
    if name not in builders:
        near = difflib.get_close_matches(name, builders, n=3, cutoff=0.4)
        hint = f"did you mean {', '.join(near)}?" if near else "gallery.names() lists them"
        raise ProblemError(f"no gallery problem is called {name!r}: {hint}")
    return builders[name]()


def all_problems(family: str | None = None) -> Iterator[GalleryProblem]:
    """Build the problems one after the other, of one family or of all."""
    return (build() for build in _builders(family).values())


def small_problems() -> Iterator[GalleryProblem]:
    """Build the problems of at most some ten contacts, whose solutions are mostly known."""
    return (problem for family in SMALL_FAMILIES for problem in all_problems(family))


def _builders(family: str | None) -> dict[str, Builder]:
    catalogues = _catalogues()
    if family is None:
        return {name: build for catalogue in catalogues.values() for name, build in catalogue.items()}
    if family not in catalogues:
        raise ProblemError(f"no gallery family is called {family!r}: expected one of {', '.join(catalogues)}")
    return catalogues[family]
