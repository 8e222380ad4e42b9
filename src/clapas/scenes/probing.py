"""Probes of a scene: quantities recorded at every step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clapas.dynamics.joints.definition import SystemEnd
from clapas.dynamics.probes import Probe
from clapas.errors import SceneError, known_keywords
from clapas.geometry import checks

if TYPE_CHECKING:
    from clapas.scenes.scene import Scene


@known_keywords
def probe(
    scene: Scene,
    quantity: str,
    body: int | str | None = None,
    other: int | str | None = None,
    *,
    joint: str | None = None,
    name: str | None = None,
) -> Probe:
    """Record a quantity of a body, of its contacts or of a joint at every step.

    Parameters
    ----------
    quantity : str
        A key of ``clapas.dynamics.probes.QUANTITIES``: "position", "force", "normal_force"…
    body : int or str, optional
        Number or name of the body.
    other : int or str, optional
        For contacts: only those with this body.
    joint : str, optional
        Name of the joint, instead of a body: "joint_coordinate", "joint_rate", "joint_effort",
        "joint_force", "joint_torque".
    name : str, optional
        Name of the column; by default made of the others.
    """
    if (body is None) == (joint is None):
        raise SceneError(f"probe of {quantity}: give a body, or the name of a joint")
    if joint is not None:
        name = checks.word("name of a probe", name or f"{quantity} {joint}")
        return _probe_joint(scene, quantity, joint, name)
    assert body is not None
    first, second = scene.number(body), None if other is None else scene.number(other)
    if name is None:
        name = f"{quantity} {body}" + ("" if other is None else f" {other}")
    checks.word("name of a probe", name)
    if any(probe.name == name for probe in scene.probes):
        raise SceneError(f"probe '{name}': another probe has this name; names are unique")
    new = Probe(name, quantity, first, second)
    scene.probes.append(new)
    return new


def _probe_joint(scene: Scene, quantity: str, joint: str, name: str) -> Probe:
    names = [one.name for one in scene.joints]
    if joint not in names:
        known = ", ".join(names) or "none"
        raise SceneError(
            f"probe '{name}': there is no joint '{joint}'{checks.did_you_mean(joint, names)}; "
            f"there are {known}"
        )
    if any(probe.name == name for probe in scene.probes):
        raise SceneError(f"probe '{name}': another probe has this name; names are unique")
    target = scene.joints[names.index(joint)]
    bodies = [end.carrier if isinstance(end, SystemEnd) else end for end in (target.a, target.b)]
    body = next((number for number in bodies if number is not None), -1)
    new = Probe(name, quantity, body, joint=joint, coordinate=target.rows.measure)
    if quantity in ("joint_coordinate", "joint_rate", "joint_effort") and target.rows.measure is None:
        raise SceneError(
            f"probe '{name}': a {target.kind} joint has no single coordinate; hinge, slider and cylindrical "
            "joints have one, in 2-D pin, slot and slider; joint_force and joint_torque are of all"
        )
    scene.probes.append(new)
    return new
