"""``clapas warm-up``: compile the kernels once, before they are needed."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from clapas.cli.progress import telling_of_compilation


def warm_up(
    scene: Annotated[
        list[str] | None,
        typer.Argument(metavar="SCENE", help="Shipped scenes to prepare for; by default the usual ones."),
    ] = None,
) -> None:
    """Compile the kernels that runs need and keep them, so that the first run starts at once."""
    from clapas.errors import unknown_name
    from clapas.scenes import examples
    from clapas.scenes.warming import USUAL, warm

    chosen = scene or list(USUAL)
    for name in chosen:
        if name not in examples.names():
            raise unknown_name("shipped scene", name, examples.names())
    begin = time.perf_counter()
    with telling_of_compilation():
        for name in chosen:
            start = time.perf_counter()
            compiled = warm(name)
            word = f"{compiled} kernels compiled" if compiled else "ready"
            print(f"{name:<18} {word}, {time.perf_counter() - start:.1f} s", flush=True)
    print(f"ready after {time.perf_counter() - begin:.1f} s")
