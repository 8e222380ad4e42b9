"""Turn errors of the schema into messages: where, what, and how to fix it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError

from clapas.errors import SceneError
from clapas.geometry.checks import did_you_mean

Step = str | int
SHOWN = 8
EXPECTED = {
    "float_type": "a number",
    "int_type": "a whole number",
    "string_type": "text",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
}


def scene_error(error: ValidationError, model: type[BaseModel], data: Any) -> SceneError:
    """One error for all that is wrong with plain data: a line for each problem.

    Parameters
    ----------
    error : ValidationError
        Errors found by the schema.
    model : type
        The schema.
    data : Any
        The data, for the names of bodies in messages.
    """
    lines: list[str] = []
    for problem in error.errors():
        line = f"{_path(problem['loc'], data)}: {_message(problem, model)}"
        if line not in lines:  # each branch of a union reports the same problem
            lines.append(line)
    if len(lines) > SHOWN:
        lines[SHOWN:] = [f"and {len(lines) - SHOWN} more"]
    if len(lines) == 1:
        return SceneError(lines[0])
    return SceneError(f"{len(lines)} problems:\n  " + "\n  ".join(lines))


def _path(loc: Sequence[Step], data: Any) -> str:
    """Readable path, with the name of the body if it has one."""
    path, current = "", data
    for step in loc:
        if isinstance(step, int):
            path += f"[{step}]"
            current = current[step] if isinstance(current, list) and step < len(current) else None
            if isinstance(current, Mapping) and isinstance(current.get("name"), str):
                path += f" '{current['name']}'"
        elif isinstance(current, Mapping) and (step in current or not _is_branch(step, current)):
            path += f".{step}" if path else step
            current = current.get(step)
    return path or "scene"


def _is_branch(step: str, here: Mapping[str, Any]) -> bool:
    """Whether a step of a path is a branch of a union (the name of a shape, motion or region), not a key."""
    return here.get("type") == step


def _message(problem: Any, model: type[BaseModel]) -> str:
    kind, value, loc = problem["type"], problem["input"], problem["loc"]
    if kind == "extra_forbidden":
        known = _keys(model, loc[:-1])
        return f"unknown key{did_you_mean(str(loc[-1]), known)}; expected {', '.join(known)}"
    if kind == "missing":
        return "this key is missing"
    if kind == "union_tag_invalid":
        words = [word.strip("' ") for word in problem["ctx"]["expected_tags"].split(",")]
        tag = problem["ctx"]["tag"]
        return f"unknown type '{tag}'{did_you_mean(tag, words)}; expected {', '.join(words)}"
    if kind == "union_tag_not_found":
        return "the key type is missing: it says which one it is"
    if kind == "value_error":
        return str(problem["ctx"]["error"])
    expected = EXPECTED.get(kind) or problem["msg"].removeprefix("Input should be ")
    return f"expected {expected}, got {value!r}{_number_hint(value)}"


def _number_hint(value: Any) -> str:
    """Hint for numbers in quotes, and for 1e-3 in YAML, which reads it as text."""
    if not isinstance(value, str):
        return ""
    try:
        float(value)
    except ValueError:
        return ""
    return "; write numbers without quotes, and in YAML with a dot before the exponent, as in 1.0e-3"


def _keys(model: Any, loc: Sequence[Step]) -> list[str]:
    """Keys that the schema allows at a place."""
    for step in loc:
        model = _below(model, step)
    branches = [kind for kind in (model, *get_args(model)) if _is_model(kind)]
    return list(branches[0].model_fields) if branches else []


def _below(kind: Any, step: Step) -> Any:
    """Type reached by a step of a path."""
    if _is_model(kind):
        field = kind.model_fields.get(step)
        return field.annotation if field else None
    arguments = [a for a in get_args(kind) if a is not type(None)]
    if get_origin(kind) in (list, dict):
        return arguments[-1]
    for branch in arguments:  # a union: the step is the word of a branch, or goes through one
        if _is_model(branch) and step in get_args(
            getattr(branch.model_fields.get("type"), "annotation", None)
        ):
            return branch
    for branch in arguments:
        if (inner := _below(branch, step)) is not None:
            return inner
    return None


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)
