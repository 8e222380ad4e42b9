"""Formulas as MathML, which browsers draw by themselves: no script, no network."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

logger = logging.getLogger(__name__)
ACCENT = re.compile(r"\\(tilde|bar|hat|dot)\s*(\w)")  # an index would go under the letter
TIDY = {
    "<mo>{</mo>": '<mo stretchy="false">{</mo>',
    "<mo>}</mo>": '<mo stretchy="false">}</mo>',
    '<mo stretchy="false">|</mo>': '<mo stretchy="false" lspace="0" rspace="0">|</mo>',
    "<mo>*</mo>": "<mo>∗</mo>",
}


def inline(writer: Any, node: nodes.math) -> None:
    """Write a formula inside a line."""
    writer.body.append(_converted(node, as_block=False))
    raise nodes.SkipNode


def display(writer: Any, node: nodes.math_block) -> None:
    """Write a formula on its own."""
    writer.body.append(f'<div class="formula">{_converted(node, as_block=True)}</div>\n')
    raise nodes.SkipNode


def _converted(node: nodes.Element, as_block: bool) -> str:
    try:
        made = tex2mathml(ACCENT.sub(r"{\\\1 \2{}}", node.astext()), as_block=as_block)
    except MathError as error:
        logger.warning("formula not understood: %s", error, location=node)
        return node.astext()
    for written, wanted in TIDY.items():
        made = made.replace(written, wanted)
    return made
