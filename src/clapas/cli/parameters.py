"""Parameters of a shipped scene on the command line: ``clapas run heap --grains 3000 --mu 0.3``."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from clapas.errors import SettingsError

if TYPE_CHECKING:
    from clapas.scenes.examples.parameters import Parameter


def read(scene: str, arguments: Sequence[str], known: Mapping[str, Parameter]) -> dict[str, Any]:
    """Values of parameters from ``--name value`` or ``--name=value``, converted and range-checked.

    Examples
    --------
    >>> from clapas.scenes import examples
    >>> read("heap", ["--grains", "300", "--mu=0.2"], examples.parameters("heap"))
    {'grains': 300, 'mu': 0.2}
    """
    values: dict[str, Any] = {}
    rest = list(arguments)
    while rest:
        word, equals, text = rest.pop(0).partition("=")
        name = word.removeprefix("--").replace("-", "_")
        if not word.startswith("--") or name not in known:
            raise SettingsError(_unknown(scene, word, known))
        if not equals:
            if not rest:
                raise SettingsError(f"{word} needs a value")
            text = rest.pop(0)
        values[name] = _converted(scene, word, text, known[name])
    return values


def _converted(scene: str, word: str, text: str, parameter: Parameter) -> Any:
    try:
        value = parameter.kind(text)
    except ValueError:
        expected = "a whole number" if parameter.kind is int else "a number"
        raise SettingsError(f"{word} must be {expected}, {parameter.range}, got '{text[:40]}'") from None
    return parameter.checked(scene, value)


def _unknown(scene: str, word: str, known: Mapping[str, Parameter]) -> str:
    options = ["--" + name.replace("_", "-") for name in known]
    near = difflib.get_close_matches(word, options, n=1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    listing = f"its parameters are {', '.join(options)}" if options else "it has no parameters"
    return f"neither 'clapas run' nor the scene '{scene}' knows '{word}'{hint}; {listing}"
