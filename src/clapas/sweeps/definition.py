"""Definition of a sweep: a scene, values of its parameters, seeds, and what to measure of each run.

A parameter is a parameter of a shipped scene (``mu``, ``grains``), or a path into the scene document
as in a file (``laws.0.mu``, ``bodies.block.density``, ``run.dt``); entries of a list are found by
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
        Index in the sweep.
    identity : str
        Digest of all that determines its result, by which a resumed sweep recognises it.
    scene : str
        Name of the shipped scene, or path of the file.
    values : dict
        Values of the parameters, by name.
    seed : int or None
        Seed of the scene; None keeps the default.
    measures : tuple of str
        Measures at the end.
    recording : str or None
        Path of the recording; None to discard it.
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
        """Read a sweep from a TOML file; scene files are relative to it."""
        path = Path(path)
        try:
            data = tomllib.loads(path.read_text(encoding="utf-8-sig"))
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

        The first is built, so that a misspelt parameter is reported before anything runs.
        """
        source = _source(self.scene)
        made: list[Case] = []
        for values in product(*self.parameters.values()):
            named = dict(zip(self.parameters, values, strict=True))
            for seed in self.seeds or (None,):
                key = [__version__, source, named, seed, list(self.measures)]
                text = json.dumps(key, sort_keys=True, default=str)
                identity = hashlib.sha256(text.encode()).hexdigest()[:16]
                recording = (
                    str(recordings / f"{identity}.h5") if self.keep and recordings is not None else None
                )
                made.append(
                    Case(len(made), identity, self.scene, named, seed, tuple(self.measures), recording)
                )
        self._try(made[0])
        return made

    def _try(self, case: Case) -> None:
        """Build a run; raise errors of the scene itself, which do not depend on the values."""
        try:
            case.build()
        except SceneError as error:
            try:
                build(self.scene, {})
            except SceneError as without:
                if str(without) == str(error):
                    raise


def equal_durations(sweep: Sweep) -> list[str]:
    """Warnings about durations with equal numbers of steps, which give the same run.

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
        except SceneError:  # reported in the row of the run
            return []
    texts = []
    for dt in filter(is_positive, steps):
        same: dict[int, list[Any]] = {}
        for duration in durations:
            same.setdefault(round(duration / dt), []).append(duration)
        for count, values in same.items():
            if len(values) > 1:
                listed = ", ".join(f"{value:g}" for value in values[:-1]) + f" and {values[-1]:g}"
                all_of_them = "both" if len(values) == 2 else "all"
                texts.append(
                    f"sweep: run.duration = {listed} s are {all_of_them} {count} steps of {dt:g} s, so that "
                    "their runs are the same"
                )
    return texts


def is_positive(value: Any) -> bool:
    """Whether a value of a file is a positive number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf


def build(name: str, values: Mapping[str, Any], seed: int | None = None) -> Scene:
    """A scene with some parameters set.

    Examples
    --------
    >>> build("sliding-block", {"mu": 0.3, "run.dt": 1e-2}).run.dt
    0.01
    """
    known = examples.parameters(name)
    scene_arguments = {key: value for key, value in values.items() if key in known}
    document_entries = {key: value for key, value in values.items() if key not in known}
    for key in document_entries:
        if "." not in key and name in examples.names():
            raise unknown_name(f"parameter of the scene '{name}'", key, known)
    if seed is not None:
        if name in examples.names() and "seed" not in known:
            raise SettingsError(f"the scene '{name}' draws nothing at random: leave seeds out")
        (scene_arguments if "seed" in known else document_entries)["seed"] = seed
    if name not in examples.names() and not is_robot_file(name):
        document, folder = scenefile.document(name), Path(name).parent
    else:
        scene = examples.load(name, **scene_arguments)
        if not document_entries:
            return scene
        document, folder = scene.to_dict(), Path(".")
    for key, value in document_entries.items():
        _put(document, key, value)
    try:
        return scenefile.scene_of(document, folder)
    except SceneError as error:
        raise SceneError(f"{name}: {error}") from None


def _put(document: Any, path: str, value: Any) -> None:
    """Set the entry at a dotted path; entries of lists are found by their number or their name."""
    *parents, last = path.split(".")
    current = document
    for word in parents:
        current = current.setdefault(word, {}) if isinstance(current, dict) else _entry(current, word, path)
    if isinstance(current, dict):
        current[last] = value
    elif isinstance(current, list):
        current[_place(current, last, path)] = value
    else:
        raise SettingsError(f"sweep: '{path}' leads into {current!r}, which has no entries")


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


def _values(name: str, entry: Any) -> list[Any]:
    """Values of a parameter: a list, a single value, or a range {from, to, count, spacing}."""
    if isinstance(entry, list):
        return entry
    if not isinstance(entry, dict):
        return [entry]
    unknown = [key for key in entry if key not in RANGE]
    if unknown or not {"from", "to", "count"} <= set(entry):
        raise SettingsError(
            f"parameter '{name}': a range has from, to, count and, if wished, spacing; got {', '.join(entry)}"
        )
    low, high, count, spacing = entry["from"], entry["to"], entry["count"], entry.get("spacing", "linear")
    if not isinstance(count, int) or count < 1:
        raise SettingsError(f"parameter '{name}': count must be a whole number, at least 1, got {count!r}")
    if spacing not in ("linear", "log"):
        raise SettingsError(f"parameter '{name}': spacing must be 'linear' or 'log', got '{spacing}'")
    if spacing == "log" and not (low > 0 and high > 0):
        raise SettingsError(f"parameter '{name}': a range with spacing 'log' needs positive ends")
    points = np.geomspace(low, high, count) if spacing == "log" else np.linspace(low, high, count)
    if isinstance(low, int) and isinstance(high, int):
        whole = np.round(points).astype(int)
        if spacing == "log" or np.array_equal(whole, points):
            return list(dict.fromkeys(whole.tolist()))
    return [float(value) for value in points]


def _seeds(entry: Any) -> Sequence[int]:
    """Seeds: a list, or how many (0, 1, 2, …)."""
    if isinstance(entry, int) and not isinstance(entry, bool):
        if entry < 0:
            raise SettingsError(f"seeds must be a list, or how many: got {entry}")
        return tuple(range(entry))
    if isinstance(entry, list | tuple):
        return tuple(entry)
    raise SettingsError(f"seeds must be a list, or how many: got {entry!r}")


def _source(scene: str) -> Any:
    """The scene in the identity of a run: its name, or the contents of its file."""
    if scene in examples.names():
        return scene
    return Path(scene).read_text(encoding="utf-8") if is_robot_file(scene) else scenefile.document(scene)
