"""Profiles: which strategies meet which tasks, as TOML files in suite/profiles/ or anywhere."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from pathlib import Path

from thawbench.errors import UserError, unknown
from thawbench.registry import families

FOLDER = Path(__file__).parent / "profiles"
DEFAULT = "mini"


@dataclass(frozen=True)
class Profile:
    """A named matrix.

    Attributes:
        train: the train sets that a family's strategies adapt to, where they differ from the task's own default.
        floors: the least main score by strategy and task, for this profile's backbone; a cell under it is red.
    """

    name: str
    description: str
    backbone: str
    strategies: tuple[str, ...]
    tasks: tuple[str, ...]
    seeds: str = "1"
    train: Mapping[str, str] = field(default_factory=dict)
    floors: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


def known_profiles() -> tuple[str, ...]:
    """The profiles that ship with Thawbench."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.toml")))


def load_profile(name: str) -> Profile:
    """A profile by name, or by the path of a TOML file.

    Raises:
        UserError: no such profile, or a file that does not say what a profile must.
    """
    path = Path(name) if name.endswith(".toml") else FOLDER / f"{name}.toml"
    if not path.is_file():
        if name.endswith(".toml"):
            raise UserError(
                f"no profile at {name}; give the path of a TOML file, or one of {', '.join(known_profiles())}"
            )
        raise unknown("profile", name, known_profiles())
    try:
        read = tomllib.loads(path.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"profile {path} is not TOML: {error}") from None
    return _checked(path, read)


def _checked(path: Path, read: dict[str, object]) -> Profile:
    keys = {item.name for item in fields(Profile)} - {"name"}
    for key in read:
        if key not in keys:
            raise unknown(f"key of profile {path.name}", key, keys)
    for key, kind in (("description", str), ("backbone", str), ("strategies", list), ("tasks", list)):
        if not isinstance(read.get(key), kind):
            raise UserError(f"profile {path}: {key!r} must be there as a {'text' if kind is str else 'list of names'}")
    strategies, tasks = (tuple(map(str, read[key])) for key in ("strategies", "tasks"))  # type: ignore[call-overload]
    seeds, train, floors = read.get("seeds", "1"), read.get("train", {}), read.get("floors", {})
    if not isinstance(train, dict) or not isinstance(floors, dict):
        raise UserError(f"profile {path}: 'train' and 'floors' must be tables")
    for family in train:
        if family not in families.names():
            raise unknown(f"family in train of profile {path.name}", family, families.names())
    for strategy, by_task in floors.items():
        if not isinstance(by_task, dict) or not all(isinstance(value, int | float) for value in by_task.values()):
            raise UserError(f"profile {path}: the floors of {strategy!r} must be a table of task = number")
        if not any(fnmatchcase(strategy, asked) or asked == "all" for asked in strategies):
            raise unknown(f"strategy in floors of profile {path.name}", strategy, strategies)
        for task in by_task:
            if task not in tasks:
                raise unknown(f"task in floors of profile {path.name}", task, tasks)
    return Profile(
        name=path.stem,
        description=str(read["description"]),
        backbone=str(read["backbone"]),
        strategies=strategies,
        tasks=tasks,
        seeds=str(seeds),
        train={family: str(chain) for family, chain in train.items()},
        floors=floors,
    )
