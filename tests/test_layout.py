"""The shape of the repository: links, who may import whom, and what every module must have."""

import ast
import os
from pathlib import Path

import pytest

import thawbench

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("suite", "strategies", "tasks", "leaderboard", "slurm")
CORE = ROOT / "src" / "thawbench"
LONGEST = 400

MODULES = sorted(path for name in PACKAGES for path in (ROOT / name).rglob("*.py")) + sorted(CORE.glob("*.py"))


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def imports_of(path: Path) -> set[str]:
    """Every module that a file names in an import, wherever in the file it stands."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def under(imports: set[str], *packages: str) -> set[str]:
    return {name for name in imports if any(name == package or name.startswith(f"{package}.") for package in packages)}


@pytest.mark.parametrize("name", PACKAGES)
def test_each_package_is_a_relative_link_to_its_folder(name: str) -> None:
    link = CORE / name
    assert link.is_symlink()
    assert os.readlink(link) == f"../../{name}"
    assert link.resolve() == ROOT / name
    assert (link / "__init__.py").is_file()


def test_the_package_under_test_is_this_checkout() -> None:
    assert Path(thawbench.__file__).resolve().parent == CORE


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_every_module_has_a_docstring_and_a_readable_length(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(text)), f"{name_of(path)} does not say what it is"
    assert sum(bool(line.strip()) for line in text.splitlines()) <= LONGEST


def test_the_inits_are_docstrings_only() -> None:
    # pytest loads suite/__init__.py under a second name; code in it would run twice
    for name in PACKAGES:
        body = ast.parse((ROOT / name / "__init__.py").read_text(encoding="utf-8")).body
        assert [type(statement) for statement in body] == [ast.Expr], name


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_no_import_is_relative(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert [node.lineno for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level] == []


FORBIDDEN = {
    "tasks": ("thawbench.strategies", "thawbench.suite", "thawbench.leaderboard", "thawbench.slurm"),
    "strategies": ("thawbench.tasks", "thawbench.suite", "thawbench.leaderboard", "thawbench.slurm"),
    "leaderboard": ("thawbench.tasks", "thawbench.strategies", "thawbench.slurm", "torch", "transformers", "mteb"),
    "suite": ("thawbench.slurm",),
}


@pytest.mark.parametrize("package", FORBIDDEN)
def test_a_package_imports_nothing_that_it_may_not_know(package: str) -> None:
    wrong = {
        name_of(path): sorted(found)
        for path in (ROOT / package).rglob("*.py")
        if (found := under(imports_of(path), *FORBIDDEN[package]))
    }
    assert wrong == {}


def test_the_leaderboard_knows_of_the_suite_only_its_records() -> None:
    seen = {
        name for path in (ROOT / "leaderboard").rglob("*.py") for name in under(imports_of(path), "thawbench.suite")
    }
    assert seen
    assert {
        name for name in seen if not under({name}, "thawbench.suite.records", "thawbench.suite.record_store")
    } == set()


@pytest.mark.parametrize("name", ["contracts", "errors", "names", "registry"])
def test_the_core_needs_neither_torch_nor_any_package(name: str) -> None:
    packages = [f"thawbench.{package}" for package in PACKAGES]
    assert under(imports_of(CORE / f"{name}.py"), "torch", "transformers", "mteb", *packages) == set()


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_nothing_pickles(path: Path) -> None:
    assert under(imports_of(path), "pickle", "cloudpickle", "joblib", "dill") == set()
