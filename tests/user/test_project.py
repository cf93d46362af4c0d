"""What the project's files say about each other: versions, commands and checks are the same everywhere."""

import re
import runpy
import sys
import tomllib
import types
from pathlib import Path

import coverage.patch
import pytest
import yaml
from measured import REQUEST, untraced

import sterna
from sterna.ground import compilation

ROOT = Path(__file__).parents[2]
CONFIGURATION = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = CONFIGURATION["project"]


def read_yaml(path):
    return yaml.safe_load((ROOT / path).read_text())


def test_workflow_runs_the_commands_of_the_readme():
    job = read_yaml(".github/workflows/test.yml")["jobs"]["test"]
    documented = re.findall(r"^    (make \w+) +#", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert [step["run"] for step in job["steps"] if "run" in step] == documented == ["make demo", "make test"]


def test_workflow_has_the_versions_of_the_classifiers():
    matrix = read_yaml(".github/workflows/test.yml")["jobs"]["test"]["strategy"]["matrix"]
    classifiers = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert matrix["python"] == classifiers
    assert PROJECT["requires-python"] == f">={classifiers[0]}"
    assert matrix["system"] == ["ubuntu-latest", "macos-latest"]


@pytest.mark.parametrize("name", ["test.yml", "release.yml"])
def test_workflows_may_do_little(name):
    """No job may write to the repository, and actions are named by hash, which nobody can move."""
    workflow = read_yaml(f".github/workflows/{name}")
    granted = [workflow["permissions"], *(job.get("permissions", {}) for job in workflow["jobs"].values())]
    assert granted[0] == {"contents": "read"}
    assert all(set(permissions.items()) <= {("contents", "read"), ("id-token", "write")} for permissions in granted)
    used = [step["uses"] for job in workflow["jobs"].values() for step in job["steps"] if "uses" in step]
    assert all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", action) for action in used)


def test_version_is_stated_once():
    assert PROJECT["dynamic"][0] == "version"
    stated = [path for path in (ROOT / "src").rglob("*.py") if f'"{sterna.__version__}"' in path.read_text()]
    assert stated == [ROOT / "src" / "sterna" / "version.py"]
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest[1] == sterna.__version__


def test_hooks_are_those_of_make_lint():
    makefile = (ROOT / "Makefile").read_text()
    lint = re.search(r"^lint:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)[1]
    commands = re.findall(r"^\t\$\(BIN\)/(ruff \w+|mypy)", lint, re.MULTILINE)
    hooks = [hook["entry"] for repo in read_yaml(".pre-commit-config.yaml")["repos"] for hook in repo["hooks"]]
    assert [re.match(r"\.venv/bin/(ruff \w+|mypy)", entry)[1] for entry in hooks] == commands


def test_citation_is_that_of_the_readme():
    paper = read_yaml("CITATION.cff")["preferred-citation"]
    cited = (ROOT / "README.md").read_text()
    assert paper["doi"] in cited
    assert paper["title"] in cited


def test_bug_reports_ask_for_the_script_the_output_and_versions():
    form = read_yaml(".github/ISSUE_TEMPLATE/bug_report.yml")["body"]
    required = {field["id"] for field in form if field["validations"]["required"]}
    assert {"script", "output", "versions"} <= required
    assert "sterna --version" in form[-1]["attributes"]["description"]


@pytest.fixture
def for_pypi(monkeypatch):
    """The function that prepares the README; hatchling itself is only there while a package is built."""
    interface = types.ModuleType("hatchling.metadata.plugin.interface")
    interface.MetadataHookInterface = object
    monkeypatch.setitem(sys.modules, "hatchling.metadata.plugin.interface", interface)
    return runpy.run_path(str(ROOT / "hatch_build.py"))["for_pypi"]


@pytest.mark.parametrize("source", [None, "https://example.org/sterna"])
def test_links_of_the_readme_work_on_pypi(for_pypi, source):
    shown = for_pypi((ROOT / "README.md").read_text(), source)
    links = re.findall(r"\]\(([^)]+)\)", shown)
    assert all(link.startswith("https://") for link in links)
    assert ("design (docs/design.md)" in shown) == (source is None)
    assert (f"[design]({source}/blob/HEAD/docs/design.md)" in shown) == (source is not None)


@pytest.fixture
def traced():
    """Trace this thread, and put back whatever traced it before."""
    before = sys.gettrace()
    sys.settrace(trace := lambda *event: None)
    yield trace
    sys.settrace(before)


def test_tracing_is_suspended_for_a_call(traced):
    assert untraced(sys.gettrace)() is None
    assert sys.gettrace() is traced
    with pytest.raises(ZeroDivisionError):
        untraced(lambda: 1 / 0)()
    assert sys.gettrace() is traced


def test_processes_would_be_measured():
    """Otherwise the variable that is withheld has another name, and all processes are measured at great cost."""
    assert REQUEST in Path(coverage.patch.__file__).read_text()


def test_compiled_functions_do_not_count_as_uncovered():
    patterns = CONFIGURATION["tool"]["coverage"]["report"]["exclude_also"]
    used = {line.strip() for path in (ROOT / "src").rglob("*.py") for line in path.read_text().splitlines()}
    decorators = {line for line in used if re.match(r"@\w+", line)}
    excluded = {line for line in decorators if any(re.search(pattern, line) for pattern in patterns)}
    names = {re.match(r"@(\w+)", line)[1] for line in excluded}
    ours = {
        name for name, value in vars(compilation).items() if getattr(value, "__module__", "") == compilation.__name__
    }
    assert names == {re.match(r"@(\w+)", line)[1] for line in decorators} & ours
