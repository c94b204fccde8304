"""A role that links to the lines of an object's source: ``{lines}`diffgbm.diffusion.paths.PathPoint.wronskian```.

The object is imported when the page is read, so that the line numbers are always right and a name that no longer exists
is a warning, which stops the build. Every module that is linked to gets a page of its source, an anchor at each line.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any


@dataclass(frozen=True)
class Place:
    """Where an object is written: its module, first and last line, counted from 1."""

    module: str
    first: int
    last: int

    @property
    def file(self) -> str:
        """Path of the module's file inside the package, with slashes."""
        source = Path(inspect.getsourcefile(importlib.import_module(self.module)) or "")
        parts = source.parts
        return "/".join(parts[len(parts) - 1 - parts[::-1].index("diffgbm") :])

    @property
    def page(self) -> str:
        """Name of the page of the module's source."""
        return f"source/{self.file.removesuffix('.py')}"

    def __str__(self) -> str:
        lines = f"line {self.first}" if self.first == self.last else f"lines {self.first}-{self.last}"
        return f"{self.file.removeprefix('diffgbm/')}, {lines}"


def locate(name: str) -> Place:
    """Find the source of ``package.module.attribute...``; ``LookupError`` if there is no such object."""
    module, attributes = _module_of(name)
    found: Any = module
    for attribute in attributes:
        # a property is an object of its own, not its value
        found = inspect.getattr_static(found, attribute, None)
        if found is None:
            raise LookupError(f"{name} does not exist: no {attribute!r}")
    code = found.fget if isinstance(found, property) else getattr(found, "__func__", found)
    code = getattr(code, "py_func", code)  # numba's dispatchers keep the function they compile
    try:
        lines, first = inspect.getsourcelines(inspect.unwrap(code))
    except TypeError:
        first, lines = _assignment(module, attributes[-1])
    return Place(module.__name__, max(first, 1), max(first, 1) + len(lines) - 1)


def _module_of(name: str) -> tuple[ModuleType, list[str]]:
    """Import the longest prefix of ``name`` that is a module."""
    parts = name.split(".")
    k = 0
    # a plain module has no modules inside
    while k < len(parts) and _has_module(parts[: k + 1]):
        k += 1
    if k:
        return importlib.import_module(".".join(parts[:k])), parts[k:]
    raise LookupError(f"{name} does not exist: no such module")


def _has_module(parts: list[str]) -> bool:
    """Return whether there is a module of this name, inside packages that exist."""
    if len(parts) > 1 and not hasattr(importlib.import_module(".".join(parts[:-1])), "__path__"):
        return False
    return find_spec(".".join(parts)) is not None


def _assignment(module: ModuleType, attribute: str) -> tuple[int, list[str]]:
    """Find the line that gives a name of a module its value."""
    for number, line in enumerate(inspect.getsource(module).splitlines(), 1):
        if line.startswith((f"{attribute} =", f"{attribute}:")):
            return number, [line]
    raise LookupError(f"{module.__name__}.{attribute} is not written in its module")


def lines_role(name: str, raw: str, text: str, line: int, inliner: Any, options: Any = None, content: Any = ()) -> Any:
    """Link to the lines of an object; the text may be ``words <object>``."""
    from docutils import nodes

    words, _, target = text.rpartition("<")
    target = target.rstrip(">").strip()
    try:
        place = locate(target)
    except LookupError as error:
        message = inliner.reporter.error(f"lines: {error}", line=line)
        return [inliner.problematic(raw, raw, message)], [message]
    env = inliner.document.settings.env
    env.linked_sources = {*getattr(env, "linked_sources", set()), place.module}
    depth = env.docname.count("/")
    link = nodes.reference(
        raw, "", classes=["to-lines"], refuri=f"{'../' * depth}{place.page}.html#L-{place.first}", internal=True
    )
    link += nodes.literal(text=words.strip() or str(place))
    link["reftitle"] = str(place)
    return [link], []


def source_pages(app: Any) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield a page for each module that is linked to: its source, with an anchor at every line."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer

    style = HtmlFormatter(linenos="inline", lineanchors="L", anchorlinenos=True, cssclass="highlight source-lines")
    for module in sorted(getattr(app.env, "linked_sources", set())):
        place = Place(module, 1, 1)
        code = highlight(inspect.getsource(importlib.import_module(module)), PythonLexer(), style)
        yield place.page, {"title": place.file, "body": f"<h1>{place.file}</h1>{code}"}, "page.html"


def setup(app: Any) -> dict[str, Any]:
    """Register the role and the pages."""
    app.add_role("lines", lines_role)
    app.connect("html-collect-pages", source_pages)
    # what is linked to is gathered while pages are read: `make docs` reads them all each time (-E)
    return {"version": "1", "parallel_read_safe": False, "env_version": 1}
