"""The picture of how classes come apart as strategies learn from more rows: fitted for the picture, and not kept."""

import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from scipy import sparse

from thawbench.contracts import Adapted, Provides
from thawbench.errors import DegenerateError, NotApplicableError, UserError
from thawbench.leaderboard.ink import Theme
from thawbench.leaderboard.picture_classes import ClassSpace, ClassSpaces, draw_classes
from thawbench.leaderboard.picture_page import refuse_unfit
from thawbench.strategies.readout_step import ReadoutStep
from thawbench.suite.cells import Adaptation
from thawbench.suite.plan import Request, make_plan
from thawbench.suite.session import prepare
from thawbench.suite.store import AdaptationStore
from thawbench.tasks import sampling
from thawbench.tasks.class_separation import chance_ratio, class_separation
from thawbench.tasks.input_vectors import side_vectors
from thawbench.tasks.isotropy import Doubles
from thawbench.tasks.layer_points import Shown, by_class, plane, turned

_FIRST = "frozen"
_MOST_STRATEGIES, _MOST_SIZES = 4, 6


@dataclass(frozen=True)
class _Space:
    """One adaptation's vectors of the rows shown: how far classes lie apart, and the plane."""

    ratio: float
    points: Doubles
    share: float


def picture_classes(
    out: Path,
    labelled: str,
    strategies: Sequence[str],
    sizes: str,
    backbone: str,
    seeds: str = "1",
    theme: Theme = "light",
) -> None:
    """Draw the frozen backbone and, below it, what each strategy makes of it out of n rows.

    Args:
        labelled: a set of texts with classes; `@n` is how many of its test rows are shown.
        strategies: as they are spelled, in a row or alone; three at most beside `frozen`, which is always there.
        sizes: each n, with commas between.
        backbone, seeds: as they are spelled. Points are those of the first seed.

    Raises:
        UserError: a name that does not exist, a set without texts of a few classes, or with fewer than n rows, a
            strategy that does not go with it or makes no vectors, or an unfit file.
        DataUnavailableError: data that are not to be had.
    """
    refuse_unfit(out)
    wanted = _numbers(sizes)
    shown = by_class(labelled, instead="a set")
    prepare(None)
    base = sampling.parse(labelled)[0]
    asked = _adaptations(base, (_FIRST, *strategies), wanted, backbone, seeds)
    with tempfile.TemporaryDirectory() as folder:
        spaces = _spaces(base, asked, shown, AdaptationStore(Path(folder)))
    names = tuple(dict.fromkeys(strategy for strategy, _ in asked))
    first = spaces[asked[_FIRST, wanted[0]][0].key]
    drawn = ClassSpaces(
        wanted,
        names,
        tuple(
            tuple(_drawn([spaces[each.key] for each in asked[name, size]], like=first) for size in wanted)
            for name in names
        ),
        shown.groups,
        chance_ratio(len(shown.groups), len(set(shown.groups))),
    )
    draw_classes(out, drawn, f"{base}: classes in the space of {backbone}", theme)


def _numbers(sizes: str) -> tuple[int, ...]:
    """Each n once, ascending."""
    if not re.fullmatch(r"[1-9][0-9]*(,[1-9][0-9]*)*", sizes):
        raise UserError(f"--sizes {sizes} is no list of numbers of train rows, such as 20,100")
    found = sorted(set(map(int, sizes.split(","))))
    if len(found) > _MOST_SIZES:
        raise UserError(f"{len(found)} sizes are more than stand side by side; take {_MOST_SIZES} at most")
    return tuple(found)


def _adaptations(
    base: str, strategies: tuple[str, ...], sizes: Sequence[int], backbone: str, seeds: str
) -> dict[tuple[str, int], list[Adaptation]]:
    """By strategy and n those of all seeds, each once, and without read-out: it leaves the vectors as they are."""
    tasks = {f"fewshot/{base}@{size}": size for size in sizes}
    cells = make_plan(Request(strategies=strategies, tasks=tuple(tasks), backbone=backbone, seeds=seeds)).cells
    names = {cell.strategy for cell in cells}
    if len(names) > _MOST_STRATEGIES:
        raise UserError(
            f"{len(names)} strategies are more than a picture holds; "
            f"take {_MOST_STRATEGIES - 1} beside {_FIRST} at most"
        )
    found: dict[tuple[str, int], list[Adaptation]] = {}
    for cell in cells:
        steps = tuple(step for step in cell.adaptation.steps if not isinstance(step.strategy, ReadoutStep))
        mute = Provides.VECTORS not in steps[-1].strategy.provides
        if reason := cell.reason or ("it makes no vectors" if mute else ""):
            raise UserError(f"{cell.strategy} makes no picture of {base}: {reason}")
        made = Adaptation(cell.adaptation.backbone, steps)
        alike = found.setdefault((cell.strategy, tasks[cell.task_name]), [])
        if made.key not in [each.key for each in alike]:
            alike.append(made)
    return found


def _spaces(
    base: str, asked: Mapping[tuple[str, int], Sequence[Adaptation]], shown: Shown, store: AdaptationStore
) -> dict[str, _Space]:
    """By key, of every adaptation. A checkpoint goes as soon as no other needs it."""
    distinct = {each.key: (name, size, each) for (name, size), alike in asked.items() for each in alike}
    store.expect(prefix for _, _, each in distinct.values() for prefix in each.prefixes())
    found = {}
    for key, (name, size, adaptation) in distinct.items():
        try:
            found[key] = _space(store.trail(adaptation)[-1], shown)
        except (NotApplicableError, DegenerateError) as error:
            raise UserError(f"{name} makes no picture of {base}@{size}: {error}") from None
        store.release(adaptation.prefixes())
    return found


def _space(adapted: Adapted, shown: Shown) -> _Space:
    (vectors,) = side_vectors(adapted, shown.texts)
    dense = vectors.toarray() if sparse.issparse(vectors) else vectors
    return _Space(class_separation(dense, shown.groups).ratio, *plane(dense))


def _drawn(seeds: Sequence[_Space], like: _Space) -> ClassSpace:
    points = turned(seeds[0].points, like.points)
    return ClassSpace(tuple(space.ratio for space in seeds), points, seeds[0].share)
