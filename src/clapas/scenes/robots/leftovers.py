"""Unused parts of a file: reported or rejected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from clapas.scenes.robots.xml import Leftover, Node, leftover

NO_PART = "without part in the motion"


def notes_of(
    root: Node, ignored: Mapping[str, str], unused: Mapping[str, str], strict: bool
) -> tuple[str, ...]:
    """Notes on the parts of a file that are left out; raises an error for unknown parts.

    Parameters
    ----------
    root : Node
        The file, read.
    ignored : mapping
        Elements without effect on the motion, with their subject.
    unused : mapping
        Elements that would change the motion, with what is done instead.
    strict : bool
        Whether to reject all other parts; otherwise they are listed.
    """
    counts: Counter[str] = Counter()
    for one in leftover(root):
        if one.word not in ignored and one.word not in unused and strict:
            raise _refusal(one, {word.strip("<>") for word in (*ignored, *unused)})
        counts[one.word] += 1
    notes = []
    looks = [f"{count} {word}" for word, count in counts.items() if ignored.get(word)]
    if looks:
        notes.append(f"{NO_PART}, left out: " + ", ".join(looks))
    notes += [f"{word} is left out: {unused[word]}" for word in counts if word in unused]
    unknown = [
        f"{count} {word}" for word, count in counts.items() if word not in ignored and word not in unused
    ]
    if unknown:
        notes.append("not supported, left out: " + ", ".join(unknown))
    return tuple(notes)


def _refusal(one: Leftover, known: set[str]) -> Exception:
    if one.attribute is not None:
        return one.node.error(
            f"the attribute '{one.attribute}' is not known or not supported; remove it, or read with "
            "strict=False to leave out what is not"
        )
    hint = "; run xacro on the file first" if one.node.tag.startswith("xacro:") else ""
    return one.node.error(
        f"this element is not known or not supported{hint}; remove it, or read with strict=False to leave "
        "out what is not"
    )
