"""Measures of how a Python package is arranged: modules, functions, documentation, import cycles, README."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Measures:
    """The numbers of one package.

    Attributes
    ----------
    modules, packages : int
        Python files, ``__init__.py`` included, and packages directly inside the package.
    largest_file : int
        Lines of the longest file.
    longest_function, function_p95 : int
        Lines of the longest function and the 95th percentile, without docstrings.
    docstrings, return_types : float
        Shares of functions with a docstring and with a return annotation.
    cycles : tuple of int
        Sizes of the import cycles, the largest first. Imports inside functions count, those for type checkers do not.
    words : int
        Words of the README.
    sentence : float
        Mean words of a sentence of the README, without code, tables and lists of keywords.
    """

    modules: int
    packages: int
    largest_file: int
    longest_function: int
    function_p95: int
    docstrings: float
    return_types: float
    cycles: tuple[int, ...]
    words: int
    sentence: float


def measure(package: Path, readme: str) -> Measures:
    """Measure the package in the folder ``package``, which holds its ``__init__.py``."""
    sources = {path: path.read_text(encoding="utf-8") for path in python_files(package)}
    trees = {path: ast.parse(text) for path, text in sources.items()}
    functions = [node for tree in trees.values() for node in ast.walk(tree) if isinstance(node, Function)]
    lengths = sorted(_length(function) for function in functions) or [0]
    return Measures(
        modules=sum(path.parent == package for path in sources),
        packages=len({path.parent for path in sources if path.parent.parent == package}),
        largest_file=max(len(text.splitlines()) for text in sources.values()),
        longest_function=lengths[-1],
        function_p95=lengths[ceil(0.95 * len(lengths)) - 1],
        docstrings=_share(ast.get_docstring(function) is not None for function in functions),
        return_types=_share(function.returns is not None for function in functions),
        cycles=cycles(import_graph(package, trees)),
        words=len(readme.split()),
        sentence=mean_sentence(prose_of(readme)),
    )


def python_files(package: Path) -> list[Path]:
    """Return the Python files of a package without its tests."""
    files = sorted(package.rglob("*.py"))
    return [path for path in files if not {"tests", "_tests", "test"} & set(path.relative_to(package).parts[:-1])]


def _length(function: Function) -> int:
    return _lines(function) - (_lines(function.body[0]) if ast.get_docstring(function) is not None else 0)


def _lines(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def _share(flags: Iterable[bool]) -> float:
    values = list(flags)
    return sum(values) / len(values) if values else float("nan")


def import_graph(package: Path, trees: Mapping[Path, ast.Module]) -> dict[str, set[str]]:
    """Return the modules of the package that each module imports, also inside functions.

    ``from package.a import b`` is an import of ``package.a.b`` if that is a module, else of ``package.a``. Only
    explicit imports are edges.
    """
    names = {_module_name(path, package): path for path in trees}
    graph: dict[str, set[str]] = {}
    for name, path in names.items():
        inside = name if path.name == "__init__.py" else name.rpartition(".")[0]
        targets = {target for node in _imports(trees[path]) for target in _targets(node, inside, names)}
        graph[name] = targets - {name}
    return graph


def _module_name(path: Path, package: Path) -> str:
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imports(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield all imports except those under ``if TYPE_CHECKING``."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        elif not (isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING")):
            yield from _imports(child)


def _targets(node: ast.Import | ast.ImportFrom, inside: str, names: Mapping[str, Path]) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names if alias.name in names]
    parents = inside.split(".")
    start = parents[: len(parents) - node.level + 1] if node.level else []
    source = ".".join([*start, *([node.module] if node.module else [])])
    imported = [f"{source}.{alias.name}" for alias in node.names]
    return [full if full in names else source for full in imported if full in names or source in names]


def cycles(graph: Mapping[str, set[str]]) -> tuple[int, ...]:
    """Return the sizes of the strongly connected components of two modules or more, the largest first."""
    reach = {name: _reachable(graph, name) for name in graph}
    components = {frozenset(b for b in reach[a] if a in reach[b]) for a in graph if a in reach[a]}
    return tuple(sorted((len(component) for component in components if len(component) > 1), reverse=True))


def _reachable(graph: Mapping[str, set[str]], start: str) -> set[str]:
    seen: set[str] = set()
    queue = list(graph[start])
    while queue:
        name = queue.pop()
        if name not in seen:
            seen.add(name)
            queue += graph[name]
    return seen


_REMOVED: Sequence[tuple[str, str]] = (
    (r"(?s)```.*?```|~~~.*?~~~", "\n\n"),  # fenced code
    (r"(?s)<!--.*?-->|<[^>]+>", " "),  # HTML
    (r"(?m)^\.\. .*$|^\s+:\w+:.*$", ""),  # reStructuredText directives
    (r"(?m)^\s*\|.*$", ""),  # tables
    (r"\[?!\[[^\]]*\]\([^)]*\)(\]\([^)]*\))?", " "),  # images and badges
    (r"\[([^\]]*)\]\([^)]*\)", r"\1"),  # links
    (r"https?://\S+", " "),
    (r"(?m)^[=\-~^\"#*]{3,}\s*$", ""),  # underlines of headings
)


def prose_of(text: str) -> str:
    """Return the text of a README without code, tables, images and addresses."""
    for pattern, replacement in _REMOVED:
        text = re.sub(pattern, replacement, text)
    return text


def mean_sentence(prose: str) -> float:
    """Return the mean number of words of a sentence; headings and list items without a full stop do not count.

    A sentence ends with a full stop, a question mark or an exclamation mark that a capital letter or nothing follows.
    """
    paragraphs = [" ".join(part.split()) for part in re.split(r"\n\s*\n|\n\s*[-*+] |\n#", prose)]
    pieces = [piece for paragraph in paragraphs for piece in re.split(r"(?<=[.!?])\W?\s+(?=\W?[A-Z])", paragraph)]
    lengths = [len(piece.split()) for piece in pieces if re.search(r"[.!?]\W?$", piece)]
    return sum(lengths) / len(lengths) if lengths else float("nan")
