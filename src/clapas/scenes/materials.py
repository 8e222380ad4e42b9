"""Materials, and the contact law between two of them.

A law is set for a pair of materials, or once for all pairs. The law of a pair without its own is found
in this order: by combining the laws of each material with itself, if the scene has a rule for that; by the
law for all pairs; else it is an error, raised before anything runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from clapas.errors import SceneError, known_keywords
from clapas.geometry import checks
from clapas.laws import LISTS, TYPICAL_FRICTION, Law, LawTable, typical_friction
from clapas.scenes.definition import defined

if TYPE_CHECKING:
    from clapas.scenes.scene import Scene

DEFAULT = "default"
RULES: dict[str, Callable[[float, float], float]] = {
    "mean": lambda a, b: (a + b) / 2.0,
    "geometric": lambda a, b: math.sqrt(a * b),
    "min": min,
    "max": max,
}
"""Rules to combine the coefficients of two materials."""


@dataclass(frozen=True)
class Material:
    """A material of bodies. Its fields besides the name are the single list of its properties."""

    name: str
    density: float | None = defined("number", "kg/m³", None)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise SceneError(f"material: its name must be a word, got {self.name!r}")
        if self.density is not None:
            density = checks.positive(f"material '{self.name}'", "density", self.density)
            object.__setattr__(self, "density", density)


Pair = tuple[str, str]


def pair(a: str, b: str) -> Pair:
    """Two names in a fixed order."""
    return (a, b) if a <= b else (b, a)


def make_law(label: str, numbers: Mapping[str, Any]) -> Law:
    """A law from its numbers by name, checked."""
    known = [field.name for field in fields(Law)]
    for name, value in numbers.items():
        if name not in known:
            raise SceneError(
                f"{label}: unknown '{name}'{checks.did_you_mean(name, known)}; expected {', '.join(known)}"
            )
        if name not in LISTS:
            checks.number(label, name, value)
    if "mu" not in numbers:
        raise SceneError(f"{label}: mu, the coefficient of friction, is missing")
    try:
        return Law(**numbers)
    except SceneError as error:
        raise SceneError(f"{label}: {str(error).removeprefix('law: ')}") from None


def law_entries(law: Law) -> dict[str, Any]:
    """The numbers of a law that differ from their defaults, and mu."""
    values = {field.name: (getattr(law, field.name), field.default) for field in fields(Law)}
    return {
        name: _as_lists(value)
        for name, (value, default) in values.items()
        if default is MISSING or value != default
    }


def _as_lists(value: Any) -> Any:
    return [_as_lists(each) for each in value] if isinstance(value, tuple) else value


@dataclass(frozen=True)
class LawBook:
    """The laws of a scene: by pair, for all pairs, and the rule for the rest.

    Parameters
    ----------
    by_pair : mapping
        From pairs of names in order to laws.
    for_all : Law, optional
        For pairs without their own.
    combine : str
        "error", or a key of ``RULES``.
    """

    by_pair: Mapping[Pair, Law]
    for_all: Law | None
    combine: str

    def __post_init__(self) -> None:
        known = ("error", *RULES)
        if self.combine not in known:
            hint = checks.did_you_mean(str(self.combine), known)
            raise SceneError(f"scene: combine must be one of {', '.join(known)}, got {self.combine!r}{hint}")

    def find(self, a: str, b: str) -> Law | None:
        """The law between two materials, or None."""
        pair_law = self.by_pair.get(pair(a, b))
        if pair_law is not None:
            return pair_law
        if self.combine != "error":
            of_a, of_b = self.by_pair.get((a, a)), self.by_pair.get((b, b))
            if of_a is not None and of_b is not None:
                return combined(of_a, of_b, self.combine)
        return self.for_all

    def table(self, materials: list[str], meeting: Iterable[Pair]) -> LawTable:
        """Laws of all pairs of materials that can touch; zero friction for pairs that never do."""
        for a, b in sorted({pair(*names) for names in meeting}):
            if self.find(a, b) is None:
                raise SceneError(
                    f"no law between the materials '{a}' and '{b}', which can touch; give "
                    f"scene.law('{a}', '{b}', mu=…), a law for all pairs scene.law(mu=…), or their own laws "
                    f"and scene.combine = one of {', '.join(RULES)}"
                )
        unused = Law(mu=0.0)
        return LawTable.of([[self.find(a, b) or unused for b in materials] for a in materials])


def combined(first: Law, second: Law, rule: str) -> Law:
    """Law whose coefficients combine those of two laws.

    >>> combined(Law(mu=0.2), Law(mu=0.6), "min").mu
    0.2
    """
    numbers: dict[str, Any] = {}
    for field in fields(Law):
        a, b = getattr(first, field.name), getattr(second, field.name)
        if a != b and not (isinstance(a, float | int) and isinstance(b, float | int)):
            raise SceneError(
                f"law: {field.name} of {a!r} and {b!r} cannot be combined; give a law for the pair"
            )
        numbers[field.name] = a if a == b else _apply(rule, field.name, a, b)
    return Law(**numbers)


def _apply(rule: str, name: str, a: float, b: float) -> float:
    if rule == "geometric" and min(a, b) < 0.0:
        raise SceneError(f"law: no geometric mean of {name} = {a} and {b}; give a law for the pair")
    return float(RULES[rule](a, b))


# ---------------------------------------------------------------- verbs of a scene


@known_keywords
def material(scene: Scene, name: str, density: float | None = None) -> str:
    """Name a material; returns the name.

    Bodies added without a material are of the material "default", which can be given a density too.

    Parameters
    ----------
    name : str
        Its name.
    density : float, optional
        kg/m³.
    """
    new = Material(checks.word("name of a material", name), density)
    old = scene.materials.get(name)
    if old is not None and (name != DEFAULT or old.density is not None):
        raise SceneError(f"material '{name}' is already defined, with density {old.density}")
    scene.materials[name] = new
    return name


def law(scene: Scene, a: str | None = None, b: str | None = None, **numbers: Any) -> None:
    """Give the law of contact between two materials, or for all pairs without their own.

    Parameters
    ----------
    a, b : str, optional
        Names of the materials; the same twice for a material with itself. None: for all pairs.
    **numbers
        Fields of :class:`clapas.laws.Law`: mu, restitution, tangential_restitution, cohesion, rolling,
        spinning, mu_across or section with direction. ``mu="typical"`` takes the middle of the usual range
        between two materials with these names (:func:`clapas.laws.typical_friction`).

    Examples
    --------
    >>> from clapas import Scene
    >>> scene = Scene()
    >>> scene.law(mu=0.5)
    >>> ice = scene.material("ice", density=917)
    >>> scene.law("ice", "ice", mu=0.03)
    >>> steel = scene.material("steel", density=7850)
    >>> scene.law("steel", "ice", mu="typical")
    >>> scene.laws.find("ice", "steel").mu
    0.0225
    """
    if numbers.get("mu") == "typical":
        numbers["mu"] = _typical_friction(a, b)
    if a is None and b is None:
        if scene.laws.for_all is not None:
            raise SceneError(f"the law for all pairs is already given: {scene.laws.for_all}")
        scene.laws = replace(scene.laws, for_all=_make_law(scene.d, "law for all pairs", numbers))
        return
    if a is None or b is None:
        raise SceneError(f"law: got the one material '{a or b}'; name two, or none for all pairs")
    label = f"law between '{a}' and '{b}'"
    for name in (a, b):
        require_material(scene, label, name)
    between = pair(a, b)
    if between in scene.laws.by_pair:
        raise SceneError(f"{label} is already given: {scene.laws.by_pair[between]}")
    new_law = _make_law(scene.d, label, numbers)
    scene.laws = replace(scene.laws, by_pair={**scene.laws.by_pair, between: new_law})


def _typical_friction(a: str | None, b: str | None) -> float:
    """The middle of the usual range between two named materials."""
    if a is None or b is None:
        pairs = ", ".join(f"{first}-{second}" for first, second in TYPICAL_FRICTION)
        raise SceneError(f"law for all pairs: mu = 'typical' needs two materials; known are {pairs}")
    return sum(typical_friction(a, b)) / 2.0


def _make_law(d: int, label: str, numbers: Mapping[str, Any]) -> Law:
    law = make_law(label, numbers)
    if d == 2:
        for name in ("spinning", "mu_across", "section"):
            if getattr(law, name):
                raise SceneError(
                    f"{label}: {name} has no meaning in 2-D, got {getattr(law, name)}; leave it out"
                )
    return law


def require_material(scene: Scene, label: str, name: str) -> None:
    """Raise a SceneError for an unknown material."""
    if name not in scene.materials:
        hint = checks.did_you_mean(str(name), scene.materials)
        known = ", ".join(scene.materials)
        raise SceneError(
            f"{label}: unknown material '{name}'{hint}; known are {known}. "
            f"Define it first: scene.material('{name}', density=…)"
        )
