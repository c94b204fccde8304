r"""Formulas as MathML, made by docutils when a page is built: they need no script and no network to be read.

A formula that cannot be translated is a warning, which stops the build.
"""

from __future__ import annotations

import re
from typing import Any

_ATOM = r"(\d|[A-Za-z])"


def plain_tex(formula: str) -> str:
    r"""Put braces where docutils needs them and TeX does not.

    ``\tfrac12`` is read there as the fraction of 12 and what follows, and the index of ``\hat y_0`` goes below it.
    """
    formula = re.sub(rf"\\([td]?frac)\s*{_ATOM}", r"\\\1{\2}", formula)
    formula = re.sub(rf"(\\[td]?frac\{{[^{{}}]*\}})\s*{_ATOM}", r"\1{\2}", formula)
    letter, index = r"(?:\{([^{}_]*)\}|\s*(\\?[A-Za-z]+?))", r"_(\{[^{}]*\}|\w)"
    return re.sub(rf"\\(hat|bar|tilde){letter}{index}", r"\\\1{\2\3_\4}", formula)


def render(writer: Any, node: Any) -> None:
    """Write a formula and skip the text inside."""
    from docutils import nodes
    from docutils.utils.math import MathError
    from docutils.utils.math.latex2mathml import tex2mathml
    from sphinx.util import logging

    block = isinstance(node, nodes.math_block)
    try:
        formula = tex2mathml(plain_tex(node.astext()), as_block=block)
    except MathError as error:
        logging.getLogger(__name__).warning("formula %r: %s", node.astext(), error, location=node)
        formula = writer.encode(node.astext())
    writer.body.append(f'<div class="formula">{formula}</div>' if block else formula)
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, Any]:
    """Register the renderer; ``html_math_renderer = "mathml"`` chooses it."""
    app.add_html_math_renderer("mathml", inline_renderers=(render, None), block_renderers=(render, None))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
