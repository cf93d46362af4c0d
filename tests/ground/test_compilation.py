"""What decides whether cached machine code is still valid."""

import gc
import re
from pathlib import Path

import numba
import pytest

import sterna
from sterna.ground.compilation import UNCOMPILED, compiled, intrinsic
from sterna.ground.lazy_library import garbage_is_kept

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


def test_garbage_is_kept_while_compiling_and_no_longer():
    """Collecting it takes a sixth of the time."""
    seen = []

    @intrinsic
    def look(typing_context):
        seen.append(gc.isenabled())
        return numba.int64(), lambda context, builder, signature, arguments: context.get_constant(numba.int64, 7)

    @compiled
    def seven():
        return look()

    assert seven() == 7
    assert seen
    assert not any(seen)
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError), garbage_is_kept():
        raise ZeroDivisionError
    assert gc.isenabled()
