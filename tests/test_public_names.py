"""The public names: what `dir` and `*` show, what type checkers see, and that importing sterna alone is quick."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import sterna
from sterna.distributions import DISTRIBUTIONS


def names_for_type_checkers():
    """Return the names that `__init__.py` imports for type checkers, except those of a star."""
    tree = ast.parse(Path(sterna.__file__).read_text())
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    return {alias.asname for node in imports for alias in node.names if alias.name != "*"}


def test_the_names_at_run_time_are_those_for_type_checkers():
    distributions = {distribution.__name__ for distribution in DISTRIBUTIONS}
    assert set(sterna.__all__) == names_for_type_checkers() | distributions | {"__version__"}


def test_every_public_name_is_there():
    for name in sterna.__all__:
        assert getattr(sterna, name) is not None
    assert sterna.sample.__module__ == "sterna.run.sample"
    assert {"from_pymc", "from_numpyro", "JaxTarget", "Normal", "models"} <= set(sterna.__all__)


def test_only_public_names_are_shown():
    # modules that are imported become attributes, and are not shown for that
    assert sterna.errors.Error is sterna.Error
    shown = {name for name in dir(sterna) if not name.startswith("__")}
    assert shown == set(sterna.__all__) - {"__version__"}


def test_star_import():
    scope = {}
    exec("from sterna import *", scope)
    assert scope["sample"] is sterna.sample
    assert "Any" not in scope


@pytest.mark.parametrize("name", ["Nomal", "_nothing", "no.module"])
def test_names_that_do_not_exist(name):
    with pytest.raises(AttributeError, match=f"module 'sterna' has no attribute '{name}'"):
        getattr(sterna, name)


def test_names_of_other_libraries_are_explained():
    with pytest.raises(AttributeError, match=r"'MvNormal': it is called sterna.MultivariateNormal\.$"):
        _ = sterna.MvNormal
    with pytest.raises(AttributeError, match=r"'Sampler': sterna.sample\(log_likelihood, reference, data\) runs"):
        _ = sterna.Sampler
    with pytest.raises(TypeError, match=r"not a function: sterna.sample\(log_likelihood, reference, data\) runs"):
        sterna.run(print)


def signatures():
    """Yield the signatures of all public functions and classes, and of the methods of results and targets."""
    for place in (sterna, sterna.theory):
        yield from ((name, getattr(place, name)) for name in place.__all__)
    for owner in (sterna.Result, sterna.Target):
        yield from ((name, method) for name, method in vars(owner).items() if inspect.isfunction(method))


def test_signatures_can_be_read():
    """NumPy's types are shown by their names: unfolded, ArrayLike alone takes 300 characters."""
    for name, value in signatures():
        if inspect.isfunction(value) or (isinstance(value, type) and not issubclass(value, Exception)):
            shown = str(inspect.signature(value))
            assert "_SupportsArray" not in shown, (name, shown)
            assert "numpy.ndarray" not in shown or name == "numpyro_samples", (name, shown)
    assert str(inspect.signature(sterna.HalfNormal)) == "(sigma: 'ArrayLike' = 1.0, *, shape: 'Shape' = None) -> 'None'"


def imported_by(statement, *modules):
    """Return which of the modules are imported once a statement has run in a new process."""
    script = f"import sys\n{statement}\nprint(*(m for m in {modules} if m in sys.modules))"
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()


def test_importing_sterna_alone_imports_no_other_library():
    assert imported_by("import sterna", "numpy", "numba", "scipy") == []


def test_other_parts_are_imported_when_they_are_needed():
    late = ("xarray", "scipy.special", "sterna.models", "rich.live", "arviz", "IPython")
    assert imported_by("import sterna; sterna.sample, sterna.Normal", *late) == []
