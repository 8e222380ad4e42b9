"""PairKernels to spoil a file: bytes, words, documents, XML, and the contents of HDF5."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import h5py
import numpy as np

from tests.torture.harness import Random

WORDS = (
    "nan inf -inf 1e400 -1 0 99999999999 1e308 4.9e-324 0x10 -0.0 1_000 ½ \x00 true [] {} '' "
    "18446744073709551616 9007199254740993 -9223372036854775808 1e-320 3.7 none ²"
).split(" ")
NUMBERS = [0, -1, 1, 2**31, -(2**31), 2**62, 1e308, -1e308, 5e-324, float("nan"), float("inf"), 0.5, 3, 10**9]
FACTORS = [0, -1, 2, 3, 10, 1000, 0.5, 1e-3, 1e-8, 1e8, 1e-150, 1e150]


def spoilt_bytes(data: bytes, rng: Random) -> tuple[bytes, str]:
    """Flip bits, cut, remove, repeat or overwrite a part."""
    place = int(rng.integers(0, max(1, len(data))))
    length = int(rng.integers(1, 1 + min(len(data), 2 ** int(rng.integers(0, 12)))))
    kind = rng.choice(["flip", "flips", "cut", "remove", "repeat", "zeros", "noise", "ones"])
    if kind == "flip" or kind == "flips":
        spoilt = bytearray(data)
        for at in rng.integers(0, max(1, len(data)), 1 if kind == "flip" else 20):
            spoilt[at] ^= 1 << int(rng.integers(0, 8))
        return bytes(spoilt), f"{kind} near {place}"
    replaced = {
        "cut": b"",
        "remove": data[place + length :],
        "repeat": data[place : place + length] * 2 + data[place + length :],
        "zeros": bytes(length) + data[place + length :],
        "ones": b"\xff" * length + data[place + length :],
        "noise": rng.bytes(length) + data[place + length :],
    }[str(kind)]
    return data[:place] + replaced, f"{kind} {length} at {place}"


def spoilt_words(text: str, rng: Random) -> tuple[str, str]:
    """Replace, remove, repeat or exchange words, lines or characters."""
    lines = text.splitlines(keepends=True)
    row = int(rng.integers(0, max(1, len(lines))))
    kind = str(rng.choice(["word", "word", "word", "line", "repeat", "exchange", "character"]))
    if kind == "word" and lines:
        words = lines[row].split(" ")
        words[int(rng.integers(0, len(words)))] = str(rng.choice(WORDS))
        lines[row] = " ".join(words)
    elif kind == "line" and lines:
        del lines[row]
    elif kind == "repeat" and lines:
        lines.insert(row, lines[int(rng.integers(0, len(lines)))])
    elif kind == "exchange" and lines:
        other = int(rng.integers(0, len(lines)))
        lines[row], lines[other] = lines[other], lines[row]
    else:
        whole = "".join(lines)
        place = int(rng.integers(0, max(1, len(whole))))
        return whole[:place] + chr(int(rng.integers(1, 0x2FF))) + whole[place + 1 :], f"character at {place}"
    return "".join(lines), f"{kind} in line {row + 1}"


def edited(value: Any, rng: Random) -> Any:
    """Change one leaf of plain data, somewhere below; sometimes remove or rename what is on the way."""
    if isinstance(value, dict) and value and rng.random() < 0.95:
        key = str(rng.choice(list(value)))
        if rng.random() < 0.05:
            return {name: value[name] for name in value if name != key}
        if rng.random() < 0.03:
            return value | {key + "s": value[key]}
        return value | {key: edited(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.95:
        place = int(rng.integers(0, len(value)))
        if rng.random() < 0.1:
            return value[:place]
        return [*value[:place], edited(value[place], rng), *value[place + 1 :]]
    if isinstance(value, int | float) and not isinstance(value, bool) and rng.random() < 0.6:
        return type(value)(value * FACTORS[int(rng.integers(0, len(FACTORS)))])  # of the right kind
    choices = [*NUMBERS, *WORDS[:5], [], [1.0], [1.0, 2.0, 3.0, 4.0], {}, [[1, 2], [3]], True, "stone"]
    return choices[int(rng.integers(0, len(choices)))]


def spoilt_xml(text: str, rng: Random) -> tuple[str, str]:
    """Change an attribute or a word of one; remove, repeat, move or rename an element."""
    root = ElementTree.fromstring(text)
    parents = [(above, each) for above in root.iter() for each in above]
    above, node = parents[int(rng.integers(0, len(parents)))]
    kind = str(rng.choice(["value", "value", "value", "drop", "remove", "repeat", "move", "rename"]))
    names = list(node.attrib)
    if kind in ("value", "drop") and names:
        name = str(rng.choice(names))
        words = node.attrib[name].split(" ")
        words[int(rng.integers(0, len(words)))] = str(rng.choice(WORDS)).replace("\0", "?")
        if kind == "drop":
            del node.attrib[name]
        else:
            node.attrib[name] = " ".join(words)
        origin = f"{kind} {name} of <{node.tag}>"
    else:
        if kind in ("remove", "move"):
            above.remove(node)
        if kind in ("repeat", "move"):
            whole = list(root.iter())
            whole[int(rng.integers(0, len(whole)))].append(copy.deepcopy(node))
        if kind == "rename":
            node.tag = str(rng.choice([each.tag for _, each in parents] + ["other"]))
        origin = f"{kind} <{node.tag}>"
    return ElementTree.tostring(root, encoding="unicode"), origin


def spoil_hdf5(path: Path, rng: Random) -> str:
    """Edit an HDF5 file as a program could: values, attributes, types, shapes, names."""
    with h5py.File(path, "r+") as file:
        names: list[str] = []
        file.visit(names.append)
        name = str(rng.choice(names))
        item, kind = (
            file[name],
            str(rng.choice(["value", "value", "value", "remove", "shape", "type", "attribute"])),
        )
        if kind == "attribute" or (isinstance(item, h5py.Group) and kind != "remove"):
            holder = item if len(item.attrs) else file
            if not len(holder.attrs):
                return "nothing"
            key = str(rng.choice(list(holder.attrs)))
            holder.attrs[key] = _hostile(holder.attrs[key], rng)
            return f"attribute {key} of {holder.name}"
        if kind == "remove":
            del file[name]
        elif kind == "value" and item.size and item.dtype.kind in "iufb":
            flat = item[()].ravel() if item.shape else np.array([item[()]])
            number = NUMBERS[int(rng.integers(0, len(NUMBERS)))]
            with np.errstate(all="ignore"):
                flat[int(rng.integers(0, flat.size))] = np.array(number).astype(item.dtype)
            item[...] = flat.reshape(item.shape)
        elif kind == "shape" and item.chunks is not None and item.maxshape[0] is None:
            item.resize(int(rng.choice([0, 1, 3, 10**6, 10**9])), axis=0)
        else:
            values = item[()]
            del file[name]
            changed = [np.array(b"words"), np.zeros((2, 0, 3)), np.float32(1.5), np.array([1, 2, 3])]
            try:
                changed.append(np.asarray(values)[:-1])
            except IndexError:
                changed.append(np.array([[1.0]]))
            file[name] = changed[int(rng.integers(0, len(changed)))]
        return f"{kind} of {name}"


def _hostile(value: Any, rng: Random) -> Any:
    if isinstance(value, str) and rng.random() < 0.7:
        return spoilt_words(value, rng)[0].replace("\0", "?")
    choices: list[Any] = [*NUMBERS, "", "words", b"bytes", np.zeros(3), "[]", "{}", "[[1]]", '{"a": null}']
    return choices[int(rng.integers(0, len(choices)))]
