"""The code that was submitted is the code that runs: a copy of it, made at the submit, with the files given by path."""

import hashlib
import json
import os
import secrets
import shutil
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import thawbench
from thawbench.errors import UserError
from thawbench.names import strategy_file
from thawbench.suite import machine

_LEFT_OUT = frozenset(["__pycache__", "records", "node_modules"])
_KEPT = frozenset([".py", ".toml", ".json", ".typed", ".html", ".css", ".js", ".csv", ".txt"])


@dataclass(frozen=True)
class Snapshot:
    """A folder with the package `thawbench`, and with the user's files where the request now finds them.

    Attributes:
        strategies: those that are given as files, as they are to be spelled now.
        sets, profile: likewise.
    """

    folder: Path
    hash: str
    strategies: tuple[str, ...]
    sets: tuple[str, ...]
    profile: str


def take(parent: Path, strategies: tuple[str, ...], sets: tuple[str, ...], profile: str) -> Snapshot:
    """Copy the code and the files into a folder named by their hash; one that is there is taken as it is.

    Raises:
        UserError: it cannot be written, or a file cannot be read.
    """
    copies = dict(_package())
    spelled = []
    inside: dict[str, str] = {}  # a file is taken once, with whatever options: its strategy has one name
    for text in strategies:
        path, options = strategy_file(text)
        if path:
            if path not in inside:
                inside[path] = _beside(copies, Path(path), ())
            spelled.append((inside[path], options))
    set_files = [_beside(copies, Path(path), _read_by(Path(path))) for path in sets]
    profile_file = _beside(copies, Path(profile), ()) if profile.endswith(".toml") else ""
    try:
        found_hash = _hash(copies)
        folder = parent / found_hash[:16]
        if not folder.is_dir():
            _copy(copies, folder, found_hash)
    except OSError as error:
        raise UserError(f"no snapshot of the code can be made in {parent}: {error}") from None
    return Snapshot(
        folder,
        found_hash,
        tuple(f"{folder / place}{options}" for place, options in spelled),
        tuple(str(folder / place) for place in set_files),
        str(folder / profile_file) if profile_file else profile,
    )


def in_place(strategies: tuple[str, ...], sets: tuple[str, ...], profile: str) -> Snapshot:
    """No copy: what runs in this process runs the code of this process."""
    return Snapshot(Path(), "", tuple(text for text in strategies if strategy_file(text)[0]), sets, profile)


def _package() -> Iterator[tuple[str, Path]]:
    """Every file of the package by its place in the snapshot; links, as in a checkout, are followed."""
    root = Path(thawbench.__file__).parent
    for place, folders, names in os.walk(root, followlinks=True):
        folders[:] = sorted(set(folders) - _LEFT_OUT)
        for name in sorted(names):
            path = Path(place) / name
            if path.suffix in _KEPT:
                yield f"thawbench/{path.relative_to(root).as_posix()}", path


def _read_by(description: Path) -> tuple[str, ...]:
    """The files beside a set's TOML file that it names."""
    try:
        read = tomllib.loads(description.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ()  # the plan has said what is wrong with it
    return tuple(str(read[key]) for key in ("file", "test_file") if key in read)


def _beside(copies: dict[str, Path], path: Path, others: tuple[str, ...]) -> str:
    """Take a file in, with those that it names relative to itself, into a folder of their own; its place there.

    What a set's TOML file says is in the key of every cell, so that it cannot be made to name other paths: it is
    put as many folders further down as `..` leads up from it.
    """
    # those that are absolute lie where they lie, and their hash is in the key of every cell
    relative = [Path(other) for other in (path.name, *others) if not Path(other).is_absolute()]
    folder = f"files/{sum(place.startswith('files/') for place in copies)}"
    folder += "/_" * max(other.parts.count("..") for other in relative)
    for other in relative:
        copies[f"{folder}/{other}"] = path.absolute().parent / other
    return f"{folder}/{path.name}"


def _hash(copies: dict[str, Path]) -> str:
    digest = hashlib.sha256()
    for place, path in sorted(copies.items()):
        digest.update(f"{place}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


def _copy(copies: dict[str, Path], folder: Path, found_hash: str) -> None:
    fresh = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}")
    try:
        for place, path in copies.items():
            (fresh / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, fresh / place)
        commit, dirty = machine.commit()
        told = {"sha256": found_hash, "commit": commit, "dirty": dirty}
        (fresh / "thawbench" / machine.SNAPSHOT).write_text(json.dumps(told))
        try:
            fresh.rename(folder)
        except OSError:
            if not folder.is_dir():  # else another driver was first, with the same bytes
                raise
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
