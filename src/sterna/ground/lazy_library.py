"""Compilation that optimises a function and makes machine code of it only when its address is asked for.

Numba does so with every function that it compiles, also with those that only become parts of others, which takes a
third of the time of compilation. What their callers need of them is LLVM's form of the code; they are optimised there.
"""

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.environment import lookup_environment


class LazyLibrary(JITCodeLibrary):  # type: ignore[misc] # Numba has no types
    """The code of one function; machine code is made at the first request for an address."""

    has_machine_code = False

    @property
    def codegen(self) -> "LazyLibrary":
        """What Numba asks, with `set_env`, to let the code find its environment."""
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """Let the code find its environment, with the objects that it raises; later, if there is no code yet."""
        if self.has_machine_code:
            self._codegen.set_env(name, environment)

    def _optimize_final_module(self) -> None:
        pass  # see `_emit`

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return the address of a function, or 0 if the library does not have it, as of a wrapper not asked for."""
        self._ensure_finalized()
        if not self.has_machine_code:
            if all(function.name != name for function in self.get_defined_functions()):
                return 0
            self._emit()
        return int(super().get_pointer_to_function(name))

    def _emit(self) -> None:
        self.has_machine_code = True
        super()._optimize_final_module()
        self._final_module.verify()
        super()._finalize_final_module()
        # this code may be the first that contains parts which exist nowhere else
        for variable in self._final_module.global_variables:
            environment = lookup_environment(variable.name)
            if environment is not None:
                self._codegen.set_env(variable.name, environment)


class LazyCompiler(Compiler):  # type: ignore[misc]
    """Numba's compiler, with lazy libraries."""

    def __init__(self, typing_context: Any, target_context: Any, library: Any, *rest: Any) -> None:
        if library is None:
            library = LazyLibrary(target_context.codegen(), "sterna")
            library.enable_object_caching()
        super().__init__(typing_context, target_context, library, *rest)
