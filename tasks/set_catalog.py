"""Labelled sets by name: those in `sets/`, one TOML file each, cuts of them, those of the world, and a user's own."""

from functools import cache
from importlib import resources
from pathlib import Path

from thawbench.errors import UserError, unknown
from thawbench.tasks.biased_set import cuts
from thawbench.tasks.described_set import DescribedSet
from thawbench.tasks.labelled_set import LabelledSet
from thawbench.tasks.nli import Nli
from thawbench.tasks.set_description import read_description
from thawbench.tasks.world.sets import WORLD_SETS

_own: dict[str, LabelledSet] = {}


def known_sets() -> tuple[str, ...]:
    """Every name, sorted."""
    return tuple(sorted({*_shipped(), *_own}))


def find_set(name: str) -> LabelledSet | None:
    """The set of that name, if there is one."""
    return _own.get(name) or _shipped().get(name)


def named_set(name: str) -> LabelledSet:
    """The set of that name.

    Raises:
        UserError: there is none; the nearest names are given.
    """
    found = find_set(name)
    if found is None:
        raise unknown("labelled set", name, known_sets())
    return found


def register_set(path: Path) -> str:
    """Make the set that a TOML file describes usable by its name, which is returned.

    The same file may be registered again, and is then read again. Its rows are read when they are first needed.

    Raises:
        UserError: a file that is not right, or a name that is taken.
    """
    described = DescribedSet(read_description(path.absolute()), own=True)
    name = described.name
    present = _own.get(name)
    same = isinstance(present, DescribedSet) and present.description.path == described.description.path
    if name == Nli.name or name in _shipped() or (present is not None and not same):
        raise UserError(f'{path}: the name {name} is taken; rename the file, or give it another with name = "…"')
    _own[name] = described
    return name


@cache
def _shipped() -> dict[str, LabelledSet]:
    folder = resources.files("thawbench.tasks").joinpath("sets")
    with resources.as_file(folder) as path:
        described = {file.stem: DescribedSet(read_description(file)) for file in sorted(path.glob("*.toml"))}
    biased = {made.name: made for made in cuts(described["snli"])}
    return {**WORLD_SETS, **described, **biased}
