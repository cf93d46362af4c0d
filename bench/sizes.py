"""Print the sizes of the source: files, functions, types, and imports against the layers.

    python bench/sizes.py [SOURCE]

SOURCE is the package's folder, `src/sterna` of this repository by default. Layers are those of the table in
`docs/design.md` of the repository to which SOURCE belongs.
"""

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def main() -> None:
    source = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "src" / "sterna").resolve()
    files = {path: path.read_text() for path in sorted(source.rglob("*.py"))}
    trees = {path: ast.parse(text) for path, text in files.items()}
    for label, value in figures(source, files, trees):
        print(f"{label:32} {value}")


def figures(source, files, trees):
    """Yield a label and a value for each figure."""
    lines, path = max((text.count("\n"), path) for path, text in files.items())
    yield "files", len(files)
    yield "files at the top level", len(list(source.glob("*.py")))
    yield "longest file", f"{lines} lines ({path.relative_to(source)})"
    functions = [(path, node) for path, tree in trees.items() for node in functions_of(tree)]
    longest, path, name = max((body_length(node), str(path.relative_to(source)), node.name) for path, node in functions)
    yield "longest function body", f"{longest} lines ({path}: {name})"
    parameters = [argument for _, node in functions for argument in arguments_of(node)]
    typed = [argument.annotation for argument in parameters if argument.annotation is not None]
    for label, test in (("Any", is_any), ("with Any in it", has_any), ("nothing", None)):
        count = len(parameters) - len(typed) if test is None else sum(map(test, typed))
        yield f"parameters typed {label}", f"{count} of {len(parameters)} ({100 * count / len(parameters):.1f} %)"
    yield "type: ignore", sum(len(re.findall(r"#\s*type:\s*ignore", text)) for text in files.values())
    modules = {name_of(source, path): tree for path, tree in trees.items()}
    ranks = layers_of(source, modules)
    upward = [found for name, tree in modules.items() for found in upward_imports(name, tree, ranks, modules)]
    yield "upward imports", f"{len(upward)} ({len(ranks)} of {len(files)} files are in the table of layers)"
    for found in upward:
        yield "", found


def functions_of(tree):
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def body_length(function):
    """Return the number of lines from the first statement after the docstring to the last."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


def arguments_of(function):
    """Return the parameters of a function, without `self` and `cls`."""
    parts = function.args
    found = [*parts.posonlyargs, *parts.args, *parts.kwonlyargs, parts.vararg, parts.kwarg]
    return [argument for argument in found if argument is not None and argument.arg not in ("self", "cls")]


def is_any(annotation):
    return isinstance(annotation, ast.Name) and annotation.id == "Any"


def has_any(annotation):
    return any(is_any(node) for node in ast.walk(annotation))


def name_of(source, path):
    """Return the module of a file, such as engine.round; a folder's __init__ is the folder."""
    parts = path.relative_to(source).with_suffix("").parts
    return ".".join(parts[:-1] if len(parts) > 1 and parts[-1] == "__init__" else parts)


def layers_of(source, modules):
    """Return the rank of every module that the table of layers in docs/design.md names, 0 for the highest layer.

    A row names folders (`workers/`) and files (`errors`, `target.py`); after `engine/round.py` a file is in `engine`
    unless the top level has one of its name.
    """
    table = re.findall(r"^\|.*\|$", (source.parents[1] / "docs" / "design.md").read_text(), re.MULTILINE)
    ranks = {}
    for rank, row in enumerate(table):
        folder = ""
        for name in re.findall(r"`([\w/]+?)(?:/|\.py)?`", row.split("|")[2]):
            folder = name.rpartition("/")[0] or folder
            found = name.replace("/", ".")
            found = found if found in modules else f"{folder}.{found}"
            ranks |= {module: rank for module in modules if f"{module}.".startswith(f"{found}.")}
    return ranks


def upward_imports(name, tree, ranks, modules):
    """Return the imports of a file from layers above its own, also those for types alone and inside functions."""
    if name not in ranks:
        return []
    # a public name, as in `from sterna import sample`, is of the package itself, which is above all
    imported = {module: module.partition(".")[2] for module in imports_of(tree)}
    ranked = {module: ranks.get(short, ranks[name]) if short in modules else 0 for module, short in imported.items()}
    return [f"{name} imports {module}" for module, rank in ranked.items() if rank < ranks[name]]


def imports_of(tree):
    """Yield every module of sterna that a file imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "sterna":
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from names if node.module == "sterna" else [node.module]
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "sterna")


if __name__ == "__main__":
    main()
