"""What decides whether cached machine code is still valid."""

import re
from pathlib import Path

import pytest

import sterna
from sterna.ground.compilation import UNCOMPILED

PACKAGE = Path(sterna.__file__).parent
DECORATORS = re.compile(r"^@(compiled|inlined|intrinsic|overload|lowered|.*jit)", re.MULTILINE)


def makes_machine_code(source: str) -> bool:
    return DECORATORS.search(source) is not None


@pytest.mark.parametrize("folder", UNCOMPILED)
def test_folders_outside_the_key_of_the_cache_hold_no_compiled_functions(folder):
    paths = list((PACKAGE / folder).rglob("*.py"))
    assert paths
    assert [path.name for path in paths if makes_machine_code(path.read_text())] == []


def test_compiled_functions_are_recognised():
    assert makes_machine_code((PACKAGE / "engine" / "round.py").read_text())
    assert makes_machine_code("x = 1\n@compiled_with_memory\ndef f(): pass\n")
