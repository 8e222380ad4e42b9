"""Definition of a sweep: a scene, values of its parameters, seeds, and what to measure of each run.

A parameter is a parameter of a shipped scene (``mu``, ``grains``), or a path into the document of the scene
as a file would hold it (``laws.0.mu``, ``bodies.block.density``, ``run.dt``); entries of a list are found by
their number or their name.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from clapas.analysis.measures import MEASURES
from clapas.errors import FormatError, SceneError, SettingsError, unknown_name
from clapas.scenes import examples, scenefile
from clapas.scenes.robots import is_robot_file
from clapas.scenes.scene import Scene
from clapas.version import __version__

KEYS = ("scene", "parameters", "seeds", "measures", "keep")
RANGE = ("from", "to", "count", "spacing")
MOST_CASES = 10**6


class Case(NamedTuple):
    """One run of a sweep, ready to be sent to another process.

    Parameters
    ----------
    number : int
        Its place in the sweep.
    identity : str
        Digest of all that decides its result: what a sweep that goes on recognises it by.
    scene : str
        Name of the shipped scene, or path of the file.
    values : dict
        Values of the parameters, by name.
    seed : int or None
        Seed of the scene; None leaves its own.
    measures : tuple of str
        What to measure at the end.
    recording : str or None
        Where the recording stays; None for nowhere.
    """

    number: int
    identity: str
    scene: str
    values: dict[str, Any]
    seed: int | None
    measures: tuple[str, ...]
    recording: str | None = None

    def build(self) -> Scene:
        """The scene of this run."""
        return build(self.scene, self.values, self.seed)


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """Runs of one scene for all combinations of some values.

    Parameters
    ----------
    scene : str
        A shipped scene by name, or the path of a scene file.
    parameters : mapping
        Values by parameter. All combinations are run.
    seeds : sequence of int
        Each combination is run once with each of these seeds; empty leaves the seed of the scene.
    measures : sequence of str
        Keys of :data:`clapas.analysis.measures.MEASURES`, added to the numbers every run has.
    keep : bool
        Whether to keep the recordings.

    Examples
    --------
    >>> sweep = Sweep(scene="sliding-block", parameters={"mu": [0.2, 0.4], "speed": [1.0]})
    >>> [case.values for case in sweep.cases()]
    [{'mu': 0.2, 'speed': 1.0}, {'mu': 0.4, 'speed': 1.0}]
    """

    scene: str
    parameters: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    seeds: Sequence[int] = ()
    measures: Sequence[str] = ()
    keep: bool = False

    def __post_init__(self) -> None:
        for name in self.measures:
            if name not in MEASURES:
                raise unknown_name("measure", name, MEASURES)
        for name, values in self.parameters.items():
            if not len(values):
                raise SettingsError(f"sweep: parameter '{name}' has no values: give at least one")
        for seed in self.seeds:
            if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
                raise SettingsError(f"sweep: seeds must be whole numbers, zero or more, got {seed!r}")
        if self.size > MOST_CASES:
            raise SettingsError(f"sweep: {self.size} runs are more than {MOST_CASES}: give fewer values")

    @property
    def size(self) -> int:
        """Number of runs."""
        return math.prod(len(values) for values in self.parameters.values()) * max(1, len(self.seeds))

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Sweep:
        """Read a sweep from a TOML file; a scene file it names is looked for beside it."""
        path = Path(path)
        try:
            data = tomllib.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise FormatError(f"{path}: there is no such file") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise FormatError(f"{path}: not TOML: {error}") from None
        for key in data:
            if key not in KEYS:
                raise SettingsError(f"{path}: {unknown_name('entry of a sweep', key, KEYS)}")
        if not isinstance(data.get("scene"), str):
            raise SettingsError(f"{path}: scene must name a shipped scene or a scene file")
        scene = data["scene"]
        if scene not in examples.names() and not Path(scene).is_absolute():
            scene = str(path.parent / scene)
        try:
            return Sweep(
                scene=scene,
                parameters={name: _values(name, given) for name, given in data.get("parameters", {}).items()},
                seeds=_seeds(data.get("seeds", ())),
                measures=tuple(data.get("measures", ())),
                keep=bool(data.get("keep", False)),
            )
        except SettingsError as error:
            raise SettingsError(f"{path}: {error}") from None

    def cases(self, recordings: Path | None = None) -> list[Case]:
        """All runs, in the order of the parameters, seeds changing fastest.

        The first is built, so that a misspelt parameter is found before anything runs.
        """
        source = _source(self.scene)
        made: list[Case] = []
        for values in product(*self.parameters.values()):
            named = dict(zip(self.parameters, values, strict=True))
            for seed in self.seeds or (None,):
                what = [__version__, source, named, seed, list(self.measures)]
                text = json.dumps(what, sort_keys=True, default=str)
                identity = hashlib.sha256(text.encode()).hexdigest()[:16]
                kept = str(recordings / f"{identity}.h5") if self.keep and recordings is not None else None
                made.append(Case(len(made), identity, self.scene, named, seed, tuple(self.measures), kept))
        self._try(made[0])
        return made

    def _try(self, case: Case) -> None:
        """Build a run: what is wrong with the scene, whatever the values, is not the failure of each run."""
        try:
            case.build()
        except SceneError as error:
            try:
                build(self.scene, {})
            except SceneError as without:
                if str(without) == str(error):
                    raise


def equal_durations(sweep: Sweep) -> list[str]:
    """Words on durations that are the same number of steps, and so give the same run; none if all differ.

    >>> durations = {"run.dt": [0.01], "run.duration": [0.1, 0.104, 0.11]}
    >>> (text,) = equal_durations(Sweep(scene="sliding-block", parameters=durations))
    >>> text.partition(":")[2]
    ' run.duration = 0.1 and 0.104 s are both 10 steps of 0.01 s, so that their runs are the same'
    """
    durations = [value for value in sweep.parameters.get("run.duration", ()) if is_positive(value)]
    if len(durations) < 2:
        return []
    steps = sweep.parameters.get("run.dt")
    if steps is None:
        try:
            steps = [sweep.cases()[0].build().run.dt]
        except SceneError:  # the failure of a run, told in its row
            return []
    told = []
    for dt in filter(is_positive, steps):
        same: dict[int, list[Any]] = {}
        for duration in durations:
            same.setdefault(round(duration / dt), []).append(duration)
        for count, values in same.items():
            if len(values) > 1:
                listed = ", ".join(f"{value:g}" for value in values[:-1]) + f" and {values[-1]:g}"
                all_of_them = "both" if len(values) == 2 else "all"
                told.append(
                    f"sweep: run.duration = {listed} s are {all_of_them} {count} steps of {dt:g} s, so that "
                    "their runs are the same"
                )
    return told


def is_positive(value: Any) -> bool:
    """Whether something written in a file is a positive number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf


def build(name: str, values: Mapping[str, Any], seed: int | None = None) -> Scene:
    """A scene with some parameters set.

    Examples
    --------
    >>> build("sliding-block", {"mu": 0.3, "run.dt": 1e-2}).run.dt
    0.01
    """
    known = examples.parameters(name)
    own = {key: value for key, value in values.items() if key in known}
    inside = {key: value for key, value in values.items() if key not in known}
    for key in inside:
        if "." not in key and name in examples.names():
            raise unknown_name(f"parameter of the scene '{name}'", key, known)
    if seed is not None:
        if name in examples.names() and "seed" not in known:
            raise SettingsError(f"the scene '{name}' draws nothing at random: leave seeds out")
        (own if "seed" in known else inside)["seed"] = seed
    if name not in examples.names() and not is_robot_file(name):
        document, folder = scenefile.document(name), Path(name).parent
    else:
        scene = examples.load(name, **own)
        if not inside:
            return scene
        document, folder = scene.to_dict(), Path(".")
    for key, value in inside.items():
        _put(document, key, value)
    try:
        return scenefile.scene_of(document, folder)
    except SceneError as error:
        raise SceneError(f"{name}: {error}") from None


def _put(document: Any, path: str, value: Any) -> None:
    """Set the entry at a dotted path; entries of lists are found by their number or their name."""
    *way, last = path.split(".")
    at = document
    for word in way:
        at = at.setdefault(word, {}) if isinstance(at, dict) else _entry(at, word, path)
    if isinstance(at, dict):
        at[last] = value
    elif isinstance(at, list):
        at[_place(at, last, path)] = value
    else:
        raise SettingsError(f"sweep: '{path}' leads into {at!r}, which has no entries")


def _entry(entries: Any, word: str, path: str) -> Any:
    if not isinstance(entries, list):
        raise SettingsError(f"sweep: '{path}' leads into {entries!r}, which has no entries")
    return entries[_place(entries, word, path)]


def _place(entries: list[Any], word: str, path: str) -> int:
    if word.isdigit() and int(word) < len(entries):
        return int(word)
    names = [entry.get("name") for entry in entries if isinstance(entry, dict)]
    if word in names:
        return names.index(word)
    raise SettingsError(
        f"sweep: '{path}': no entry '{word}' among {len(entries)}: expected a number or a name"
    )


def _values(name: str, given: Any) -> list[Any]:
    """Values of a parameter: a list, a single value, or a range {from, to, count, spacing}."""
    if isinstance(given, list):
        return given
    if not isinstance(given, dict):
        return [given]
    unknown = [key for key in given if key not in RANGE]
    if unknown or not {"from", "to", "count"} <= set(given):
        raise SettingsError(
            f"parameter '{name}': a range has from, to, count and, if wished, spacing; got {', '.join(given)}"
        )
    low, high, count, spacing = given["from"], given["to"], given["count"], given.get("spacing", "linear")
    if not isinstance(count, int) or count < 1:
        raise SettingsError(f"parameter '{name}': count must be a whole number, at least 1, got {count!r}")
    if spacing not in ("linear", "log"):
        raise SettingsError(f"parameter '{name}': spacing must be 'linear' or 'log', got '{spacing}'")
    if spacing == "log" and not (low > 0 and high > 0):
        raise SettingsError(f"parameter '{name}': a range with spacing 'log' needs positive ends")
    spread = np.geomspace(low, high, count) if spacing == "log" else np.linspace(low, high, count)
    if isinstance(low, int) and isinstance(high, int):
        whole = np.round(spread).astype(int)
        if spacing == "log" or np.array_equal(whole, spread):
            return list(dict.fromkeys(whole.tolist()))
    return [float(value) for value in spread]


def _seeds(given: Any) -> Sequence[int]:
    """Seeds: a list, or how many (0, 1, 2, …)."""
    if isinstance(given, int) and not isinstance(given, bool):
        if given < 0:
            raise SettingsError(f"seeds must be a list, or how many: got {given}")
        return tuple(range(given))
    if isinstance(given, list | tuple):
        return tuple(given)
    raise SettingsError(f"seeds must be a list, or how many: got {given!r}")


def _source(scene: str) -> Any:
    """What stands for the scene in the identity of a run: its name, or what its file says."""
    if scene in examples.names():
        return scene
    return Path(scene).read_text(encoding="utf-8") if is_robot_file(scene) else scenefile.document(scene)
