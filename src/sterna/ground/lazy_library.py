"""Compilation that optimises a function and makes machine code of it only when its address is asked for.

Numba does so with every function that it compiles, also with those that only become parts of others, which takes a
third of the time of compilation. What their callers need of them is LLVM's form of the code; they are optimised there.
"""

import gc
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core.codegen import JITCodeLibrary, RuntimeLinker
from numba.core.compiler import Compiler
from numba.core.environment import lookup_environment

# Packages of functions whose code is known by the key of code on disk, and the prefixes of wrappers.
KNOWN = ("numba", "numpy", "scipy", "llvmlite", "sterna", "cpython", "cfunc")


class LazyLibrary(JITCodeLibrary):  # type: ignore[misc] # Numba has no types
    """The code of one function; machine code is made at the first request for an address."""

    has_machine_code = False
    is_known = True
    """Whether all of its parts are known by their content, so that it can be kept on disk."""

    @property
    def codegen(self) -> "LazyCodegen":
        """What Numba asks to let the code find its environment."""
        return LazyCodegen(self)

    def _optimize_final_module(self) -> None:
        pass  # see `_emit`

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        module = self._final_module
        # before it is optimised, functions that are part of others still have their names
        names = [function.name for function in module.functions if not function.is_declaration]
        linked_later = any(variable.name.startswith(RuntimeLinker.PREFIX) for variable in module.global_variables)
        self.is_known = all(_is_known(name) for name in names) and not linked_later
        self._finalized = True

    @property
    def symbols(self) -> list[str]:
        """Names of functions and variables outside of the code that it uses."""
        uses = [*self._final_module.functions, *self._final_module.global_variables]
        return [one.name for one in uses if one.is_declaration and not one.name.startswith("llvm.")]

    def get_pointer_to_function(self, name: str) -> int:
        """Return the address of a function, or 0 if the library does not have it, as of a wrapper not asked for."""
        self._ensure_finalized()
        if not self.has_machine_code:
            if all(function.name != name for function in self.get_defined_functions()):
                return 0
            self._emit()
        return int(super().get_pointer_to_function(name))

    def _emit(self) -> None:
        super()._optimize_final_module()
        self._final_module.verify()
        self._dynamic_globals.clear()
        super()._finalize_final_module()
        self.has_machine_code = True
        # this code may be the first that contains parts which exist nowhere else
        for variable in self._final_module.global_variables:
            environment = lookup_environment(variable.name)
            if environment is not None:
                self._codegen.set_env(variable.name, environment)


class LazyCodegen:
    """Numba's code generator, which sets environments only of code that exists; see `LazyLibrary._emit`."""

    def __init__(self, library: LazyLibrary) -> None:
        self._library = library

    def set_env(self, name: str, environment: Any) -> None:
        """Let the code find its environment, with the objects that it raises."""
        if self._library.has_machine_code:
            self._library._codegen.set_env(name, environment)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._library._codegen, name)


def _is_known(name: str) -> bool:
    """Return whether a function is of a known package, by its mangled name, which begins with that of the package."""
    found = re.match(r"_ZN(\d+)(.*)", name)
    # Numba makes functions of expressions with arrays, which are part of the function that contains them
    return found is None or found[2][: int(found[1])] in KNOWN or "__numba_array_expr_" in name


class LazyCompiler(Compiler):  # type: ignore[misc]
    """Numba's compiler, with lazy libraries."""

    def __init__(self, typing_context: Any, target_context: Any, library: Any, *rest: Any) -> None:
        if library is None:
            library = LazyLibrary(target_context.codegen(), "sterna")
            library.enable_object_caching()
        super().__init__(typing_context, target_context, library, *rest)

    def _compile_core(self) -> Any:
        """Compile without collecting garbage, which takes a sixth of the time: Numba makes many objects that stay."""
        with garbage_is_kept():
            return super()._compile_core()


@contextmanager
def garbage_is_kept() -> Iterator[None]:
    """Do not collect garbage meanwhile; inside another such block this does nothing."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
