"""Code that the documentation shows, as modules."""

import re
import types
from functools import cache
from pathlib import Path

import sterna

DOCS = Path(sterna.__file__).parents[2] / "docs"


@cache
def example_explorer(fault=None):
    """Execute the example of docs/adding_an_explorer.md, with a planted fault if one is given."""
    (text,) = re.findall(r"```python\n(.*?)```", (DOCS / "adding_an_explorer.md").read_text(), re.DOTALL)
    if fault is not None:
        assert fault[0] in text
        text = text.replace(*fault)
    module = types.ModuleType("steps")
    exec(compile(text, "steps.py", "exec"), module.__dict__)
    return module
