"""The copy that runs: whole, named by its content, with the files that were given by path."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import thawbench
from thawbench.slurm.snapshot import Snapshot, in_place, take
from thawbench.suite import machine
from thawbench.tasks.set_description import read_description

MINE = "SECRET = 1\n"


@pytest.fixture(scope="module")
def taken(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """A snapshot with a strategy's file, a set and a profile."""
    folder = tmp_path_factory.mktemp("given")
    (folder / "mine.py").write_text(MINE)
    (folder / "rows").mkdir()
    (folder / "rows" / "a.csv").write_text("text,label\nx,y\n")
    (folder / "own.toml").write_text('file = "rows/a.csv"\n')
    (folder / "small.toml").write_text('description = "x"\n')
    return take(
        tmp_path_factory.mktemp("snapshots"),
        ("frozen", f"{folder}/mine.py:by=2+frozen"),
        (str(folder / "own.toml"),),
        str(folder / "small.toml"),
    )


def test_the_copy_has_every_module_and_no_link(taken: Snapshot) -> None:
    package = Path(thawbench.__file__).parent
    ours = {path for folder in ("slurm", "suite", "strategies", "tasks") for path in (package / folder).glob("*.py")}
    ours |= set(package.glob("*.py"))

    for path in ours:
        copied = taken.folder / "thawbench" / path.relative_to(package)
        assert copied.read_bytes() == path.read_bytes()
        assert not copied.parent.is_symlink()
    assert not list(taken.folder.rglob("__pycache__"))


def test_files_given_by_path_are_found_in_the_copy(taken: Snapshot) -> None:
    ((mine),) = taken.strategies
    path, options = mine.split(":")
    assert Path(path).read_text() == MINE
    assert options == "by=2+frozen"
    (own,) = taken.sets
    assert (Path(own).parent / "rows" / "a.csv").read_text() == "text,label\nx,y\n"
    assert Path(taken.profile).name == "small.toml"
    for copied in (path, own, taken.profile):
        assert taken.folder in Path(copied).parents


@pytest.mark.parametrize("file", ["../data/rows.csv", "../../given/data/rows.csv", "x/../../data/rows.csv"])
def test_a_file_above_its_set_is_copied_and_the_set_is_the_same_one(tmp_path: Path, file: str) -> None:
    given = tmp_path / "given"
    (given / "sets" / "x").mkdir(parents=True)
    (given / "data").mkdir()
    (given / "data" / "rows.csv").write_text("text,label\nx,y\nz,w\n")
    (given / "sets" / "up.toml").write_text(f'file = "{file}"\n')
    (given / "sets" / "beside.toml").write_text('file = "x.csv"\n')
    (given / "sets" / "x.csv").write_text("text,label\nx,y\nz,w\n")
    sets = [given / "sets" / f"{name}.toml" for name in ("up", "beside", "up")]
    before = [read_description(path).revision for path in sets]

    taken = take(tmp_path / "snapshots", (), tuple(map(str, sets)), "mini")
    given.rename(tmp_path / "elsewhere")

    assert [read_description(Path(path)).revision for path in taken.sets] == before
    copied = [path for path in taken.folder.rglob("*.csv") if "thawbench" not in path.parts]
    assert len(copied) == len(sets)


@pytest.mark.parametrize("folder", [".pyenv", "a+b", "old.py"])
def test_a_strategys_file_may_lie_in_any_folder(tmp_path: Path, folder: str) -> None:
    mine = tmp_path / folder / "mine.py"
    mine.parent.mkdir()
    mine.write_text(MINE)

    (copied,) = take(tmp_path / "snapshots", ("frozen", f"{mine}:by=2"), (), "mini").strategies

    assert copied.endswith("/mine.py:by=2")
    assert Path(copied.removesuffix(":by=2")).read_text() == MINE
    assert in_place(("frozen", f"{mine}:by=2"), (), "mini").strategies == (f"{mine}:by=2",)


def test_a_file_with_two_configurations_is_taken_once(tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text(MINE)
    first, second = take(tmp_path / "snapshots", (f"{mine}:by=1", f"{mine}:by=2"), (), "mini").strategies
    assert first.removesuffix(":by=1") == second.removesuffix(":by=2")


def test_the_same_code_is_the_same_folder_and_other_code_another(taken: Snapshot, tmp_path: Path) -> None:
    parent = taken.folder.parent
    plain = take(parent, (), (), "mini")

    assert take(parent, ("frozen",), (), "mini").folder == plain.folder
    assert plain.folder != taken.folder
    assert plain.profile == "mini"
    (tmp_path / "mine.py").write_text(MINE)
    first = take(parent, (f"{tmp_path}/mine.py",), (), "mini")
    (tmp_path / "mine.py").write_text("SECRET = 2\n")
    assert take(parent, (f"{tmp_path}/mine.py",), (), "mini").hash != first.hash
    assert {path.name for path in parent.iterdir() if path.name.startswith(".")} == set()


def test_code_in_the_copy_knows_its_hash_and_the_commit_it_is_of(taken: Snapshot) -> None:
    script = (
        "import json, thawbench; from thawbench.suite import machine; "
        "print(json.dumps([thawbench.__file__, machine.package_versions()['thawbench'], *machine.commit()]))"
    )
    environment = {**os.environ, "PYTHONPATH": str(taken.folder), "PYTHONSAFEPATH": "1"}
    answer = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)

    file, version, commit, dirty = json.loads(answer.stdout)

    assert Path(file) == taken.folder / "thawbench" / "__init__.py"
    assert version == f"{machine.package_versions()['thawbench']}+{taken.hash}"
    assert (commit, dirty) == machine.commit()
