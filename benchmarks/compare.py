"""Compare the speed of two checkouts in one run: kernels, scenes, solvers.

    python -m benchmarks.compare OLD NEW              # or: clapas bench compare OLD NEW
    python -m benchmarks.compare HEAD~1 . --quick     # smaller samples, fewer repetitions
    python -m benchmarks.compare main . --only sweeps --json results.json

OLD and NEW are folders that hold a checkout, or git revisions of the repository of this file (``HEAD~3``, a
branch), which are put in temporary worktrees. Each checkout runs in processes of its own, with its own
sources and its own cache of kernels; both are asked in turn for the same sample (old new, new old, …), so
that what else happens on the machine meets both. Each round starts new processes: where memory lies is a
part of the noise.

The ratio is that of neighbours in time, new/old: below 1 the new one is faster. Printed are its median, the
middle half of its values (the spread), and the ratio of the best times. "same" says whether both computed
the same number; if not, the times are those of different work. Samples that one of the checkouts cannot run
are listed with the reason.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks import machine
from benchmarks.samples import SAMPLES
from clapas.errors import SettingsError
from clapas.studies.report import markdown_table

HERE = Path(__file__).resolve().parents[1]
WORKER = Path(__file__).with_name("samples.py")
SAME = 1e-9


@dataclass(frozen=True)
class Comparison:
    """What was measured of one sample.

    Parameters
    ----------
    old, new : list of float
        Seconds, by repetition; the two of one place were measured one after the other.
    difference : float
        Relative difference of what the two computed.
    error : str
        Why there are no times, if there are none.
    """

    name: str
    group: str
    old: list[float]
    new: list[float]
    difference: float = 0.0
    error: str = ""

    @property
    def ratios(self) -> list[float]:
        """New over old, by repetition."""
        return [new / old for old, new in zip(self.old, self.new, strict=True)]

    @property
    def ratio(self) -> float:
        """Their median."""
        return median(self.ratios)

    @property
    def spread(self) -> tuple[float, float]:
        """The middle half of the ratios."""
        if len(self.ratios) < 2:
            return self.ratio, self.ratio
        low, _, high = quantiles(self.ratios, n=4, method="inclusive")
        return low, high

    @property
    def ratio_of_best(self) -> float:
        """Best new time over best old time."""
        return min(self.new) / min(self.old)


# ---------------------------------------------------------------------------------------------- checkouts


@contextmanager
def checkout(given: str) -> Iterator[Path]:
    """The folder of a checkout: one that is there, or a temporary worktree of a git revision."""
    folder = Path(given).expanduser()
    if folder.is_dir():
        if not (folder / "src" / "clapas").is_dir():
            raise SettingsError(
                f"'{given}' holds no src/clapas; give the folder of a checkout or a git revision"
            )
        yield folder.resolve()
        return
    commit = _git("rev-parse", "--verify", "--quiet", f"{given}^{{commit}}")
    if not commit:
        raise SettingsError(
            f"'{given}' is neither a folder nor a git revision of {HERE}; give the folder of a checkout, or "
            "a revision as 'git log' shows them"
        )
    with TemporaryDirectory(prefix="clapas-compare-") as place:
        tree = Path(place) / "tree"
        _git("worktree", "add", "--detach", "--quiet", str(tree), commit, check=True)
        try:
            yield tree
        finally:
            _git("worktree", "remove", "--force", str(tree), check=True)


def _git(*arguments: str, check: bool = False) -> str:
    done = subprocess.run(["git", "-C", str(HERE), *arguments], capture_output=True, text=True, check=False)
    if check and done.returncode:
        raise SettingsError(f"git {' '.join(arguments)} failed: {done.stderr.strip()}")
    return done.stdout.strip()


class Worker:
    """A process with the sources of one checkout that times samples on request."""

    def __init__(self, folder: Path, cache: Path, size: float, threads: int) -> None:
        environment = os.environ | {
            "PYTHONPATH": str(folder / "src"),
            "NUMBA_CACHE_DIR": str(cache),
            "NUMBA_NUM_THREADS": str(threads),
            "OPENBLAS_NUM_THREADS": str(threads),
            "OMP_NUM_THREADS": str(threads),
        }
        # -P: the folder of the worker does not come before the sources of the checkout.
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(WORKER), str(size)],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        used = Path(self._answer()["clapas"])
        if folder not in used.parents:
            self.close()
            raise SettingsError(f"the process imports {used}, not the sources in {folder}")

    def time(self, name: str) -> dict[str, Any]:
        """Seconds and answer of a sample, or the error it ended with."""
        assert self._process.stdin is not None
        self._process.stdin.write(name + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"a process that times samples ended with code {self._process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


# ---------------------------------------------------------------------------------------------- measuring


def compare(
    old: Path,
    new: Path,
    names: Sequence[str],
    *,
    cache: Path,
    size: float = 1.0,
    rounds: int = 3,
    repeats: int = 5,
    threads: int = 1,
) -> list[Comparison]:
    """Time samples in both checkouts in turn; ``rounds`` pairs of processes, ``repeats`` times in each."""
    found = {name: Comparison(name, SAMPLES[name].group, [], []) for name in names}
    for number in range(rounds):
        with ExitStack() as stack:
            pair = []
            for side, folder in (("old", old), ("new", new)):
                (cache / side).mkdir(parents=True, exist_ok=True)
                worker = Worker(folder, cache / side, size, threads)
                stack.callback(worker.close)
                pair.append(worker)
            for name in names:
                print(f"  round {number + 1}: {name}", file=sys.stderr)
                if not found[name].error:
                    found[name] = _with_round(found[name], pair, repeats)
    return list(found.values())


def _with_round(known: Comparison, pair: Sequence[Worker], repeats: int) -> Comparison:
    """What is known of a sample after some more repetitions."""
    answers = [worker.time(known.name) for worker in pair]  # prepares, compiles: these times do not count
    for side, answer in zip(("old", "new"), answers, strict=True):
        if "error" in answer:
            return Comparison(known.name, known.group, [], [], error=f"{side}: {answer['error']}")
    a, b = (answer["answer"] for answer in answers)
    difference = max(known.difference, abs(a - b) / max(abs(a), abs(b), 1e-300))
    times: tuple[list[float], list[float]] = (list(known.old), list(known.new))
    for repeat in range(repeats):
        for side in (0, 1) if repeat % 2 == 0 else (1, 0):
            times[side].append(pair[side].time(known.name)["seconds"])
    return Comparison(known.name, known.group, *times, difference)


def table(found: Sequence[Comparison]) -> str:
    """The comparisons as Markdown, failures below."""
    header = ["group", "sample", "old ms", "new ms", "new/old", "middle half", "best/best", "same"]
    lines = []
    for one in found:
        if one.error:
            continue
        low, high = one.spread
        same = "yes" if one.difference <= SAME else f"no ({one.difference:.0e})"
        lines.append(
            [
                one.group,
                one.name,
                f"{1e3 * min(one.old):.3g}",
                f"{1e3 * min(one.new):.3g}",
                f"{one.ratio:.3f}",
                f"{low:.3f} to {high:.3f}",
                f"{one.ratio_of_best:.3f}",
                same,
            ]
        )
    failed = [f"{one.name} was not compared. {one.error}" for one in found if one.error]
    return "\n".join([markdown_table(header, lines), *failed])


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.compare", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("old", metavar="OLD", help="folder of a checkout, or a git revision")
    parser.add_argument("new", metavar="NEW", help="the same; '.' for the folder you are in")
    parser.add_argument(
        "--quick", action="store_true", help="samples of a fifth, one round of three repetitions"
    )
    parser.add_argument(
        "--only", nargs="*", default=[], metavar="WORD", help="samples or groups with these words"
    )
    parser.add_argument("--rounds", type=int, help="pairs of processes (default 3)")
    parser.add_argument("--repeats", type=int, help="repetitions in each (default 5)")
    parser.add_argument("--size", type=float, help="factor on the sizes of the samples (default 1)")
    parser.add_argument("--threads", type=int, default=1, help="threads (default 1: timed by the processor)")
    parser.add_argument("--cache", type=Path, help="folder for the kernels of both, kept for the next call")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers to a file as well")
    options = parser.parse_args(arguments)
    rounds, repeats, size = (1, 3, 0.2) if options.quick else (3, 5, 1.0)
    options.rounds = rounds if options.rounds is None else options.rounds
    options.repeats = repeats if options.repeats is None else options.repeats
    options.size = size if options.size is None else options.size
    if min(options.rounds, options.repeats, options.threads) < 1 or not options.size > 0:
        parser.error("rounds, repeats and threads must be at least 1, size positive")
    return options


def chosen(words: Sequence[str]) -> list[str]:
    """Names of the samples that contain one of the words, or whose group is one; all without words."""
    names = [
        name
        for name, sample in SAMPLES.items()
        if not words or any(word in name or word == sample.group for word in words)
    ]
    if not names:
        raise SettingsError(f"no sample matches {', '.join(words)}; there are: {', '.join(SAMPLES)}")
    return names


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare, print the table, write the file; return the exit code."""
    options = _options(arguments)
    settings = {key: getattr(options, key) for key in ("size", "rounds", "repeats", "threads")}
    try:
        names = chosen(options.only)
        with ExitStack() as stack:
            old, new = (stack.enter_context(checkout(given)) for given in (options.old, options.new))
            cache = options.cache or Path(stack.enter_context(TemporaryDirectory(prefix="clapas-kernels-")))
            found = compare(old, new, names, cache=cache.resolve(), **settings)
    except SettingsError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    here = machine.describe()
    print("\n".join(here.lines()))
    timed = "processor time" if options.threads == 1 else f"clock, {options.threads} threads"
    print(
        f"old: {options.old}; new: {options.new}; {timed}, {options.rounds} × {options.repeats} repetitions\n"
    )
    print(table(found))
    if options.json:
        content = {
            "machine": asdict(here),
            "settings": {"old": options.old, "new": options.new, **settings},
            "samples": [asdict(one) for one in found],
        }
        options.json.write_text(json.dumps(content, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
