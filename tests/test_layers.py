"""No module imports from a layer above its own: the source against the table of layers in docs/design.md."""

import ast
import re
from pathlib import Path

import pytest

import sterna

ROOT = Path(__file__).parents[1]
PACKAGE = Path(sterna.__file__).parent


def layers():
    """Return the rank of every folder and top-level file, 0 for the highest layer, as docs/design.md shows them."""
    rows = re.findall(r"^\| \d+ \| (.*?) \|", (ROOT / "docs" / "design.md").read_text(), re.MULTILINE)
    return {name: rank for rank, row in enumerate(rows) for name in re.findall(r"`(\w+)[/`]", row)}


LAYERS = layers()


def room_of(module):
    """Return the folder, or the top-level file, of a module such as sterna.engine.round."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def imports_of(path, text=None):
    """Yield every module of sterna that a file imports: at its top, for types alone, and inside functions."""
    for node in ast.walk(ast.parse(path.read_text() if text is None else text)):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            if node.module and node.module.split(".")[0] == "sterna":
                names = [f"{node.module}.{alias.name}" for alias in node.names]
                yield from names if node.module == "sterna" else [node.module]
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "sterna")


def upward(path, text=None):
    """Return the imports of a file from layers above its own."""
    own = LAYERS[room_of("sterna." + ".".join(path.relative_to(PACKAGE).with_suffix("").parts))]
    # a public name, as in `from sterna import sample`, is of the package itself
    return [module for module in imports_of(path, text) if LAYERS.get(room_of(module), 0) < own]


def test_every_folder_is_in_the_table():
    found = {p.stem for p in PACKAGE.glob("*.py")} | {p.parent.name for p in PACKAGE.glob("*/__init__.py")}
    assert found == set(LAYERS)


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_module_imports_upward(path):
    assert upward(path) == []


@pytest.mark.parametrize(
    "fault",
    [
        "from sterna.run.options import as_target",
        "if TYPE_CHECKING:\n    from sterna.result.result import Result",
        "def f():\n    import sterna.workers.choice",
        "from sterna import sample",
    ],
)
def test_planted_upward_imports_are_seen(fault):
    assert len(upward(PACKAGE / "engine" / "round.py", fault)) == 1


def test_tests_mirror_the_source():
    """Every folder of tests is a folder of the source, or one that crosses layers."""
    rooms = {p.name for p in (ROOT / "tests").iterdir() if p.is_dir() and p.name != "__pycache__"}
    assert rooms - set(LAYERS) <= {"laws", "tools", "user"}
