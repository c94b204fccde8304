"""The map of the library: imports go down, private names stay in their room, no cycles, and every module has tests.

The floors are those of the table in ``CONTRIBUTING.md``. Imports are read from the source, so that lazy imports and
imports under ``TYPE_CHECKING`` count too.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "diffgbm"
TOP = "diffgbm"
"""The front door: ``diffgbm/__init__.py`` and ``__main__.py``, above all rooms."""
GROUND = "_version"
"""``diffgbm/_version.py`` imports nothing, so every room may import it."""
LAZY = ("import_module", "__import__", "need")
"""Functions that import a module by its name."""


@dataclass(frozen=True)
class Import:
    """One imported name: where, by which module, from which module, and its name (``None`` for a whole module)."""

    where: str
    source: str
    target: str
    name: str | None

    def __str__(self) -> str:
        what = f" ({self.name})" if self.name else ""
        return f"{self.where}: {self.source} imports {self.target}{what}"


def modules() -> dict[str, Path]:
    """Return the file of each module of the library by its full name."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def room_of(module: str) -> str:
    """Return the room of a module; that of a module of the package itself is the package."""
    parts = module.split(".")
    if len(parts) == 1 or (len(parts) == 2 and parts[1] == "__main__"):
        return TOP
    return parts[1]


def imports_of(module: str, path: Path) -> Iterator[Import]:
    """Yield all imports of the library's own modules in a file, those inside functions included."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        where = f"{path.relative_to(ROOT).as_posix()}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.Import):
            names: list[tuple[str, str | None]] = [(alias.name, None) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{where}: relative import; write the full name of the module"
            names = [(node.module or "", alias.name) for alias in node.names]
        elif isinstance(node, ast.Call) and _called(node.func) in LAZY and node.args:
            first = node.args[0]
            names = [(str(first.value), None)] if isinstance(first, ast.Constant) else []
        else:
            continue
        for target, name in names:
            if target.split(".")[0] != TOP:
                continue
            is_module = name is not None and f"{target}.{name}" in MODULES
            yield Import(where, module, f"{target}.{name}" if is_module else target, None if is_module else name)


def _called(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


IMPORTS = [found for module, path in MODULES.items() for found in imports_of(module, path)]


@dataclass(frozen=True)
class Room:
    """A row of the table in ``CONTRIBUTING.md``."""

    floor: int
    modules: tuple[str, ...]


def table() -> dict[str, Room]:
    """Read the table of ``CONTRIBUTING.md``: room, floor, question, modules."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (\d+) \| [^|]+ \| ([^|]*) \|$", text, re.M)
    return {room: Room(int(floor), tuple(re.findall(r"`([\w.]+)`", listed))) for room, floor, listed in rows}


ROOMS = table()


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def check(broken: list[Import], rule: str) -> None:
    """Fail with the lines that break a rule."""
    assert not broken, "\n".join([rule, *map(str, broken)])


def floor_of(module: str) -> int:
    room = room_of(module)
    return 0 if room == GROUND else ROOMS[room].floor


def test_the_map_is_the_tree():
    """The table names every room and every module, and nothing else."""
    found: dict[str, list[str]] = {TOP: ["__init__", "__main__"]}
    for module, path in MODULES.items():
        parts = module.split(".")
        if room_of(module) in (TOP, GROUND) or path.name == "__init__.py" or is_private(parts[-1]):
            continue
        found.setdefault(room_of(module), []).append(".".join(parts[2:]))
    listed = {room: sorted(row.modules) for room, row in ROOMS.items()}
    assert listed == {room: sorted(names) for room, names in found.items()}


def test_imports_go_down():
    broken = [
        found
        for found in IMPORTS
        if room_of(found.source) != room_of(found.target) and floor_of(found.target) >= floor_of(found.source)
    ]
    # the ground is below the lowest room
    broken = [found for found in broken if room_of(found.target) != GROUND]
    check(broken, "A module imports only from lower floors (see the table in CONTRIBUTING.md):")


def test_private_names_stay_in_their_room():
    broken = []
    for found in IMPORTS:
        if room_of(found.source) == room_of(found.target) or room_of(found.target) == GROUND:
            continue
        inner = [*found.target.split(".")[2:], found.name or ""]
        if any(is_private(part) for part in inner):
            broken.append(found)
    check(broken, "A private name or module is imported from another room:")


def test_modules_form_no_cycles():
    edges: dict[str, dict[str, Import]] = {module: {} for module in MODULES}
    for found in IMPORTS:
        if found.target in MODULES and found.target != found.source:
            edges[found.source].setdefault(found.target, found)
    cycle = _cycle(edges)
    assert not cycle, "\n".join(["Modules import each other in a circle:", *map(str, cycle)])


def _cycle(edges: dict[str, dict[str, Import]]) -> list[Import]:
    """Return the imports of one cycle, empty if there is none."""
    done: set[str] = set()

    def visit(module: str, trail: list[Import]) -> list[Import]:
        sources = [step.source for step in trail]
        if module in sources:
            return trail[sources.index(module) :]
        if module in done:
            return []
        for target, found in edges[module].items():
            if closed := visit(target, [*trail, found]):
                return closed
        done.add(module)
        return []

    return next((closed for module in edges if (closed := visit(module, []))), [])


def modules_to_test() -> list[str]:
    """Return the modules that need a test file: no packages, kernels (tested by their callers) or front door."""
    return [
        module
        for module, path in MODULES.items()
        if path.name != "__init__.py" and room_of(module) not in (TOP, GROUND) and not is_private(path.stem)
    ]


@pytest.mark.parametrize("module", modules_to_test())
def test_every_module_has_a_test_file_of_its_name(module):
    room, *inner = module.split(".")[1:]
    file = ROOT.joinpath("tests", room, *inner[:-1], f"test_{inner[-1]}.py")
    assert file.exists(), f"write {file.relative_to(ROOT).as_posix()}"


def test_lazy_and_typed_imports_are_seen(tmp_path, monkeypatch):
    """The reader sees imports inside functions, under ``TYPE_CHECKING`` and by name."""
    code = (
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from diffgbm.auto import budget\n"
        "def f():\n    import diffgbm.cli\n    need('diffgbm.dask')\n    from diffgbm.engine.forest import _starts\n"
    )
    monkeypatch.setattr("tests.test_rooms.ROOT", tmp_path)
    (tmp_path / "a.py").write_text(code)
    found = {(i.where, i.target, i.name) for i in imports_of("diffgbm.engine.a", tmp_path / "a.py")}
    assert found == {
        ("a.py:3", "diffgbm.auto.budget", None),
        ("a.py:5", "diffgbm.cli", None),
        ("a.py:6", "diffgbm.dask", None),
        ("a.py:7", "diffgbm.engine.forest", "_starts"),
    }


def test_a_cycle_is_named():
    def step(a: str, b: str) -> Import:
        return Import("file.py:1", a, b, None)

    edges = {"a": {"b": step("a", "b")}, "b": {"c": step("b", "c")}, "c": {"b": step("c", "b")}}
    assert [(found.source, found.target) for found in _cycle(edges)] == [("b", "c"), ("c", "b")]
    assert _cycle({"a": {"b": step("a", "b")}, "b": {}}) == []
