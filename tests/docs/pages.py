"""The code of a page, as a reader would run it, and the outputs it shows."""

import contextlib
import io
import re
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NUMBER = re.compile(r"-?\d+\.?\d*(?:e-?\d+)?")


@dataclass(frozen=True)
class Block:
    """A block of code of a page, the line it begins at, and the output shown below it, if any."""

    page: str
    line: int
    code: str
    shown: str | None


def blocks(page: str | Path) -> list[Block]:
    """Return the ``python`` blocks of a page below ``docs``; a ``text`` block that follows one is its output."""
    text = (DOCS / page).read_text(encoding="utf-8")
    fences = list(_FENCE.finditer(text))
    found = []
    for fence, following in zip(fences, [*fences[1:], None], strict=True):
        if fence[1] == "python":
            shown = following[2] if following is not None and following[1] == "text" else None
            found.append(Block(str(page), text.count("\n", 0, fence.start()) + 2, fence[2], shown))
    return found


def run(page: str | Path, names: dict) -> list[tuple[Block, str]]:
    """Run the blocks of a page in one namespace; return each with what it printed."""
    printed = []
    for block in blocks(page):
        out = io.StringIO()
        # line numbers of a traceback are then those of the page
        code = compile("\n" * (block.line - 1) + block.code, str(DOCS / page), "exec")
        with contextlib.redirect_stdout(out):
            exec(code, names)
        printed.append((block, out.getvalue()))
    return printed


def same_output(shown: str, printed: str, relative: float = 0.1) -> bool:
    """Whether two outputs have the same words and about the same numbers.

    Numbers may differ by a tenth: other versions of LightGBM grow other trees.
    """
    if _NUMBER.sub("#", shown).split() != _NUMBER.sub("#", printed).split():
        return False
    pairs = zip(map(float, _NUMBER.findall(shown)), map(float, _NUMBER.findall(printed)), strict=True)
    return all(abs(a - b) <= relative * max(abs(a), abs(b), 0.5) for a, b in pairs)
