"""Parameters of a shipped scene on the command line: ``clapas run heap --grains 3000 --mu 0.3``."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from clapas.errors import SettingsError


def read(scene: str, arguments: Sequence[str], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Values of parameters from ``--name value`` or ``--name=value``, each of the type of its default.

    Examples
    --------
    >>> read("heap", ["--grains", "300", "--mu=0.2"], {"grains": 1000, "mu": 0.4})
    {'grains': 300, 'mu': 0.2}
    """
    values: dict[str, Any] = {}
    rest = list(arguments)
    while rest:
        word, equals, text = rest.pop(0).partition("=")
        name = word.removeprefix("--").replace("-", "_")
        if not word.startswith("--") or name not in defaults:
            raise SettingsError(_unknown(scene, word, defaults))
        if not equals:
            if not rest:
                raise SettingsError(f"{word} needs a value")
            text = rest.pop(0)
        values[name] = _converted(word, text, type(defaults[name]))
    return values


def _converted(word: str, text: str, kind: type[Any]) -> Any:
    try:
        return kind(text)
    except ValueError:
        expected = "a whole number" if kind is int else "a number"
        raise SettingsError(f"{word} must be {expected}, got '{text}'") from None


def _unknown(scene: str, word: str, defaults: Mapping[str, Any]) -> str:
    options = ["--" + name.replace("_", "-") for name in defaults]
    near = difflib.get_close_matches(word, options, n=1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    known = f"its parameters are {', '.join(options)}" if options else "it has no parameters"
    return f"neither 'clapas run' nor the scene '{scene}' knows '{word}'{hint}; {known}"
