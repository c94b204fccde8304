"""The measures of the code's arrangement on a small made-up package, and the page of them; nothing is downloaded."""

import argparse
import math
import tarfile
import zipfile

import pytest
from benchmarks.style_measures import mean_sentence, measure, prose_of

from benchmarks import style

FILES = {
    "__init__.py": "from tiny.a import f\n",
    "a.py": '''"""A module."""
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tiny.room.c import C


def f() -> int:
    """One.

    Two.
    """
    from tiny.b import g

    return g()
''',
    "b.py": "from . import a\n\n\ndef g():\n    return a.f\n",
    "room/__init__.py": "from tiny.room.c import C\n",
    "room/c.py": "import tiny.b\n\n\nclass C:\n    def h(self) -> None:\n        def inner(): pass\n",
    "tests/test_a.py": "\n" * 500,
}
README = """# Tiny

![a picture](x.png) It has two sentences. This one has e.g. [five words](https://x.y/z).

```python
not a word here.
```

| a | table. |
"""


@pytest.fixture
def package(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / "tiny" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "tiny"


def test_measures_by_hand(package):
    measures = measure(package, README)
    # three files at the top, one package beside the tests
    assert (measures.modules, measures.packages) == (3, 1)
    assert measures.largest_file == len(FILES["a.py"].splitlines()) == 15
    # f: eight lines, four of them a docstring; g: two; h: two; inner: one
    assert (measures.longest_function, measures.function_p95) == (4, 4)
    assert (measures.docstrings, measures.return_types) == (1 / 4, 2 / 4)
    # a and b import each other, a inside a function; room.c imports b, a imports room.c for type checkers only
    assert measures.cycles == (2,)
    assert measures.words == len(README.split())


def test_a_module_that_imports_its_package_closes_a_cycle(package):
    (package / "room" / "c.py").write_text("from tiny.room import C\n")
    assert measure(package, "").cycles == (2, 2)


def test_sentences_exclude_code_tables_images_and_headings():
    prose = prose_of(README)
    for word in ("picture", "python", "table", "https"):
        assert word not in prose
    # "It has two sentences." has four words, "This one has e.g. five words." six
    assert mean_sentence(prose) == pytest.approx(5.0)
    assert math.isnan(mean_sentence("# A heading"))


def wheel_of(package, folder):
    path = folder / "tiny-1.2-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for file in package.rglob("*.py"):
            archive.write(file, file.relative_to(package.parent))
        archive.writestr("tiny-1.2.dist-info/METADATA", f"Name: tiny\nVersion: 1.2\n\n{README}")
    return path


def sdist_of(package, folder):
    path = folder / "tiny-1.2.tar.gz"
    metadata = folder / "PKG-INFO"
    metadata.write_text(f"Name: tiny\nVersion: 1.2\n\n{README}")
    with tarfile.open(path, "w:gz") as archive:
        archive.add(package, "tiny-1.2/src/tiny")
        archive.add(metadata, "tiny-1.2/PKG-INFO")
    return path


@pytest.mark.parametrize("archive_of", [wheel_of, sdist_of])
def test_wheels_and_source_distributions_are_unpacked(package, tmp_path, archive_of):
    source = style.unpack(archive_of(package, tmp_path), "tiny", tmp_path / "unpacked")
    assert source.version == "1.2"
    assert source.readme.strip() == README.strip()
    assert measure(source.package, source.readme) == measure(package, README)


def test_an_archive_without_the_package_is_not_available(package, tmp_path):
    with pytest.raises(style.NotAvailable, match="has no package other"):
        style.unpack(wheel_of(package, tmp_path), "other", tmp_path / "unpacked")


def test_without_network_only_our_package_is_measured(tmp_path, monkeypatch, capsys):
    def offline(name, folder):
        raise style.NotAvailable(f"pip cannot download {name}: no network")

    monkeypatch.setattr(style, "download", offline)
    style.run(argparse.Namespace(packages=["diffrax"], results_dir=tmp_path))
    text = (tmp_path / "style.md").read_text()
    assert "| | ours |" in text
    assert "Not measured: diffrax (pip cannot download diffrax: no network)." in text
    assert capsys.readouterr().out == text + "\n"


def test_the_page_by_hand(package):
    text = style.table({"ours": measure(package, README), "tiny 1.2": measure(package, "")}, {})
    assert "| | ours | tiny 1.2 |" in text
    assert "| modules at the top / packages | 3 / 1 | 3 / 1 |" in text
    assert "| largest file, longest function (p95), lines | 15, 4 (4) | 15, 4 (4) |" in text
    assert "| functions with docstring / return type | 25% / 50% | 25% / 50% |" in text
    assert "| import cycles, modules of each | 2 | 2 |" in text
    assert "| mean sentence in README, words | 5 |  |" in text
    assert "Not measured" not in text
