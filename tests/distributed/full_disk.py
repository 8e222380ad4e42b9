"""A run on ranks whose disk fills up: the size of files is limited as soon as the first frames are there."""

from __future__ import annotations

import resource
import signal
import sys
from pathlib import Path

from clapas.distributed.communication import Ranks
from clapas.distributed.launch import ending_together, world
from clapas.io.recording import writer as writing
from clapas.io.simulation import simulate
from clapas.scenes.recorders import StepProgress
from clapas.solvers import NSGS

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.distributed.experiments import packing


def main(path: Path) -> None:
    ranks = Ranks(world())
    writing.FLUSH_SECONDS = 0.0
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    def fill(advance: StepProgress) -> None:
        if advance.step == 10 and ranks.rank == 0:
            size = path.stat().st_size + 1000
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    with ending_together(ranks.comm, 2):
        simulate(packing(), 0.04, 1e-3, NSGS(tol=1e-6), out=path, progress=fill, ranks=ranks)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
