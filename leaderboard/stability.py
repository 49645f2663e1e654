"""How far a score depends on luck: spread, failed runs, the best of k runs, and which seeds the variance comes from."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from thawbench.contracts import Stream
from thawbench.leaderboard.mixture import grouped
from thawbench.leaderboard.statistics import Interval, Summary, summarise
from thawbench.leaderboard.units import STREAMS, runs_interval
from thawbench.suite.records import MetricValue, Record

_NOISE = 1e-15
"""An estimate of exactly 0 may come out this far below it."""


@dataclass(frozen=True)
class Components:
    """Variance by the seeds that it comes from, in squared fractions; None of a stream that did not vary.

    Attributes:
        rest: what the streams do only together, their interactions.
        clipped: the parts whose estimate was below 0, and was set to 0.
    """

    sample: float | None
    init: float | None
    order: float | None
    rest: float
    clipped: frozenset[str]


@dataclass(frozen=True)
class Stability:
    """One strategy on one task over its seeds, every one of which has a score.

    Attributes:
        interval: of the mean over seeds, 95 %; None where seeds are crossed, of which `components` tell.
        failed: runs whose main score is no better than the best constant answer; None where the metric has no such.
        best_by_dev: for k = 1 to n, the expected test score of that of k runs which is best on dev; empty where a run
            has no dev score.
        components: None unless two streams or more are fully crossed.
        keys: the records behind it.
    """

    strategy: str
    task: str
    control: bool
    summary: Summary
    interval: Interval | None
    failed: int | None
    best_by_dev: tuple[float, ...]
    components: Components | None
    keys: tuple[str, ...] = ()


def stability_of(records: Sequence[Record]) -> tuple[Stability, ...]:
    """What the records say by task and strategy, wherever there are two runs or more and each has a main score."""
    groups = grouped(records, lambda record: (record.task, record.strategy))
    found = (_stability(task, strategy, members) for (task, strategy), members in sorted(groups.items()))
    return tuple(each for each in found if each is not None)


def _stability(task: str, strategy: str, records: Sequence[Record]) -> Stability | None:
    mains = [record.main for record in records if record.status == "ok"]
    metrics = [main for main in mains if main is not None]
    tests = [main.value for main in metrics if main.value is not None]
    if len(records) < 2 or len(tests) < len(records):
        return None  # a spread over those seeds that survived would flatter
    devs = [record.dev_score for record in records if record.dev_score is not None]
    failures = [no_better_than_chance(metric) for metric in metrics]
    summary = summarise(tests)
    return Stability(
        strategy=strategy,
        task=task,
        control=records[0].control,
        summary=summary,
        interval=runs_interval(records, summary),
        failed=None if None in failures else sum(map(bool, failures)),
        best_by_dev=expected_best(tests, by=devs) if len(devs) == len(tests) else (),
        components=_components(records, tests),
        keys=tuple(sorted(record.key for record in records)),
    )


def no_better_than_chance(metric: MetricValue) -> bool | None:
    """Whether the best constant answer would do as well; None where the metric has no such."""
    if metric.value is None or metric.chance is None or metric.direction == "none":
        return None
    return metric.value <= metric.chance if metric.direction == "up" else metric.value >= metric.chance


def expected_best(scores: Sequence[float], *, by: Sequence[float]) -> tuple[float, ...]:
    """The expected score of the run that is greatest in `by`, among k runs drawn without replacement, for k = 1 to n.

    With distinct values of `by`, sorted by them, it is sum_i score_(i) C(i-1, k-1) / C(n, k), the unbiased estimate of
    what k new runs would give. Where several of the k tie for the greatest, one of them is taken at random.

    Raises:
        ValueError: not as many of one as of the other, or none.
    """
    if not scores:
        raise ValueError("no scores to choose from")
    tied: dict[float, list[float]] = {}
    for place, score in sorted(zip(by, scores, strict=True)):
        tied.setdefault(place, []).append(score)
    # the greatest of k lies in a group iff all of the k are in it or below, and not all are below; and by symmetry
    # each member of the group is taken as often as any other
    bests = []
    for k in range(1, len(scores) + 1):
        below, terms = 0, []
        for members in tied.values():
            upto = below + len(members)
            weight = (math.comb(upto, k) - math.comb(below, k)) / math.comb(len(scores), k)
            terms.append(weight * math.fsum(members) / len(members))
            below = upto
        bests.append(math.fsum(terms))
    return tuple(bests)


def _components(records: Sequence[Record], values: Sequence[float]) -> Components | None:
    """Components if the seeds of the streams that vary are fully crossed, each triple once."""
    seeds = {stream: [getattr(record.seeds, stream) for record in records] for stream in records[0].draws}
    levels = {stream: sorted(set(seeds[stream])) for stream in STREAMS if len(set(seeds.get(stream, ()))) > 1}
    shape = tuple(len(known) for known in levels.values())
    if len(levels) < 2 or math.prod(shape) != len(values):
        return None
    table = np.full(shape, np.nan)
    for position, value in enumerate(values):
        table[tuple(known.index(seeds[stream][position]) for stream, known in levels.items())] = value
    if np.isnan(table).any():
        return None
    return _named(variance_components(table), tuple(levels))


def _named(estimates: Mapping[tuple[int, ...], float], streams: Sequence[Stream]) -> Components:
    parts: dict[str, float] = {streams[axes[0]]: value for axes, value in estimates.items() if len(axes) == 1}
    parts["rest"] = math.fsum(value for axes, value in estimates.items() if len(axes) > 1)
    kept = {name: max(0.0, value) for name, value in parts.items()}
    return Components(
        sample=kept.get("sample"),
        init=kept.get("init"),
        order=kept.get("order"),
        rest=kept["rest"],
        clipped=frozenset(name for name, value in parts.items() if value < -_NOISE),
    )


def variance_components(table: NDArray[np.float64]) -> dict[tuple[int, ...], float]:
    """Unbiased variance components of a crossed table with one value a cell, an axis (2 levels or more) a factor.

    The balanced random-effects analysis of variance (Searle, Casella and McCulloch 1992, chapter 4): the expected mean
    square of a set A of factors is the sum over B ⊇ A of component(B) times the number of cells per level of B; solved
    for the components. That of all factors holds the residual, too.

    Returns:
        The component by axes, for every non-empty set of them; may be negative.
    """
    axes = tuple(range(table.ndim))
    subsets = [chosen for size in range(1, table.ndim + 1) for chosen in combinations(axes, size)]
    squares = {chosen: _mean_square(table, chosen) for chosen in subsets}
    components = {}
    for chosen in subsets:
        repeats = math.prod(table.shape[axis] for axis in axes if axis not in chosen)
        terms = [
            (-1) ** (len(other) - len(chosen)) * square for other, square in squares.items() if {*other} >= {*chosen}
        ]
        components[chosen] = math.fsum(terms) / repeats
    return components


def _mean_square(table: NDArray[np.float64], chosen: tuple[int, ...]) -> float:
    """The effect of the chosen axes together, less that of any fewer: squared, over its degrees of freedom."""
    effect = table
    for axis in range(table.ndim):
        mean = effect.mean(axis=axis, keepdims=True)
        effect = effect - mean if axis in chosen else mean
    repeats = table.size // effect.size
    freedom = math.prod(table.shape[axis] - 1 for axis in chosen)
    return float(repeats * np.square(effect).sum() / freedom)
