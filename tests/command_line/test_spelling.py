"""Texts for users of the command line name its options, not those of Python."""

import ast
import json
import re
from pathlib import Path

import pytest

import sterna
from sterna.command_line.commands import main, run
from sterna.command_line.spelling import SPELLING, for_command_line

OPTIONS = {name for parameter in run.params for name in parameter.opts}


def test_the_spelling_names_options_that_exist():
    assert set(SPELLING.values()) <= OPTIONS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("use n_rounds=12 (4 times as many scans).", "use --rounds 12 (4 times as many scans)."),
        ("n_scans=2000 and n_rounds=10.", "--scans 2000 and --rounds 10."),
        ('n_chains="auto", or n_chains=9', "--chains auto, or --chains 9"),
        ("explorer='magic' is not known", "--explorer magic is not known"),
        ("more rounds (n_rounds)", "more rounds (--rounds)"),
        ("n_copies=-1 must be", "--copies -1 must be"),
        ("the explorer of the run; its seed", "the explorer of the run; its seed"),
        # what only Python can say stays as it is
        ("explorer=sterna.HMC(steps=20)", "explorer=sterna.HMC(steps=20)"),
        ("seed=None", "seed=None"),
    ],
)
def test_options_in_texts(text, expected):
    assert for_command_line(text) == expected


def texts_of_warnings():
    """All texts in functions that warn, with 7 in place of numbers."""
    folder = Path(sterna.__file__).parent / "result"
    for name in ("warnings.py", "convergence.py", "missed_mass.py", "precision.py", "advice.py"):
        for function in ast.walk(ast.parse((folder / name).read_text())):
            if isinstance(function, ast.FunctionDef):
                nodes = list(ast.walk(function))
                parts = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
                for node in nodes:
                    if isinstance(node, ast.JoinedStr):
                        yield "".join(
                            str(part.value) if isinstance(part, ast.Constant) else "7" for part in node.values
                        )
                    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
                        yield node.value


def test_no_warning_names_an_option_of_python():
    """Every option that any warning names exists on the command line, and is spelled as there."""
    named = 0
    for text in texts_of_warnings():
        respelled = for_command_line(text)
        assert re.search(r"\b(n_\w+|[a-z_]+=)", respelled) is None, text
        found = re.findall(r"--[a-z]+", respelled)
        assert set(found) <= OPTIONS, text
        named += len(found)
    assert named >= 8


def test_warnings_of_a_run_on_the_command_line(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["sterna", "run", "discrete", "--rounds", "2", "--explorer", "slice", "--json"])
    main()
    shown = capsys.readouterr()
    warnings = json.loads(shown.out)["warnings"]
    assert warnings
    assert all("n_rounds" not in text for text in warnings)
    assert any(re.search(r"[Uu]se --rounds \d+ \(", text) for text in warnings)
    assert [f"sterna: warning: {text}" in shown.err for text in warnings] == [True] * len(warnings)
