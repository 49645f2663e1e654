"""Two trained models on the same test rows: McNemar's test and a paired bootstrap.

Both speak of these two sets of weights on other rows like these. They do not say which strategy is better: another seed
gives other weights, and only `comparison` has seen more than one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray
from scipy.special import bdtr

from thawbench.contracts import Seeds
from thawbench.errors import UserError, unknown
from thawbench.leaderboard.mixture import refuse_mixtures
from thawbench.leaderboard.rank_correlation import spearman
from thawbench.leaderboard.statistics import Interval, shown
from thawbench.names import parse_seeds
from thawbench.suite.record_store import RecordStore
from thawbench.suite.records import Record

_NUMBERS = ("spearman", "ndcg_at_10")
"""Main metrics of rows that hold numbers and no classes."""
_ROUNDS = 2000
_ROUNDING = 1e-4
"""mteb rounds a mean over queries to five decimals."""


@dataclass(frozen=True)
class ModelPair:
    """The first model against the second.

    Attributes:
        rows: how many test rows.
        metric: what the scores are, by these rows.
        scores: of the first and of the second.
        difference: above 0 the first is better.
        interval: of the difference over rows, 95 %, by bootstrap.
        only: of classes, the rows that the first alone has right, and the second alone; else None.
        p: of classes, McNemar's exact test, two-sided; else None.
    """

    rows: int
    metric: str
    scores: tuple[float, float]
    difference: float
    interval: Interval
    only: tuple[int, int] | None
    p: float | None


@dataclass(frozen=True)
class _Rows:
    """What one model said of each row, in the order of the rows' names."""

    names: list[str]
    gold: list[float | str]
    predicted: list[float | str]
    part: str = ""
    """What they are of, if the record has others beside them."""


def verdict_on(
    results: Path, strategies: tuple[str, str], task: str, seeds: tuple[str, str], backbone: str = ""
) -> list[str]:
    """What can be said of two trained models, in lines.

    Args:
        seeds: of each, a number for all streams or `sample=1,init=0,order=0`.

    Raises:
        UserError: there are no records, and as of `model_of` and `compare_models`.
    """
    records = RecordStore(results, read_only=True).all()
    if not records:
        raise UserError(f"there are no records in {results}; name their folder with --results")
    first, second = (
        model_of(records, strategy, task, _one(seed), backbone)
        for strategy, seed in zip(strategies, seeds, strict=True)
    )
    pair = compare_models(results, first, second)
    width = max(map(len, strategies))
    lines = [f"Two trained models on the same {pair.rows} rows of {task}, {pair.metric} times 100:"]
    lines += [
        f"  {record.strategy:{width}}  {shown(score):6.2f}  {seeds_of(record)} ({record.key[:12]})"
        for record, score in zip((first, second), pair.scores, strict=True)
    ]
    low, high = shown(pair.interval.low), shown(pair.interval.high)
    lines.append(
        f"  difference {shown(pair.difference):.2f}, 95 % {low:.2f} to {high:.2f} (paired bootstrap over rows)"
    )
    if pair.only is not None:
        lines.append(f"  right alone: {pair.only[0]} and {pair.only[1]} rows; p {pair.p:.4f} (McNemar, exact)")
    return [*lines, "This speaks of these weights on other rows like these; another seed gives other weights."]


def model_of(records: Sequence[Record], strategy: str, task: str, seeds: Seeds, backbone: str = "") -> Record:
    """The one record of this strategy on this task at these seeds, of which only those that it draws on count.

    Args:
        backbone: as it was spelled; empty if there is but one.

    Raises:
        UserError: there is none, with what is there; or there are several.
    """
    found = list(records)
    for kind, asked in (("task", task), ("strategy", strategy), ("backbone", backbone)):
        if asked and not (chosen := [record for record in found if getattr(record, kind) == asked]):
            raise unknown(f"{kind} among these records", asked, {getattr(record, kind) for record in found})
        found = chosen if asked else found
    there = sorted({seeds_of(record) for record in found})
    found = [
        record
        for record in found
        if all(getattr(record.seeds, stream) == getattr(seeds, stream) for stream in record.draws)
    ]
    if not found:
        raise UserError(f"{strategy} has no record on {task} at these seeds; there are {'; '.join(there)}")
    if len(found) > 1:
        refuse_mixtures(found)  # of two versions, say, which no choice of a backbone tells apart
        backbones = ", ".join(sorted({record.backbone for record in found}))
        raise UserError(f"{strategy} has several records on {task} at these seeds; choose with --backbone: {backbones}")
    return found[0]


def seeds_of(record: Record) -> str:
    """The seeds that it draws on."""
    return ", ".join(f"{stream}={getattr(record.seeds, stream)}" for stream in sorted(record.draws)) or "no seeds"


def compare_models(results: Path, first: Record, second: Record) -> ModelPair:
    """Two records of one task by their rows: right or wrong classes, each query's nDCG@10, or similarities of pairs.

    Raises:
        UserError: a record has no rows here, or they do not give its score, or no score here is made of such rows; or
            the two are not of the same rows.
    """
    one, two = (_scored(record, _read(results, record)) for record in (first, second))
    if (one.names, one.gold) != (two.names, two.gold):
        raise UserError(
            f"the records {first.key[:12]} and {second.key[:12]} are not of the same rows; compare two of one task"
        )
    metric, only = _metric(first, one), None
    if metric == "spearman":
        scores, interval = _by_rank(one, two)
    else:
        added = [_added(metric, each) for each in (one, two)]
        scores, interval = (float(added[0].mean()), float(added[1].mean())), paired_bootstrap(*added)
        if metric == "accuracy":
            only = (int((added[0] > added[1]).sum()), int((added[1] > added[0]).sum()))
    for record, score in zip((first, second), scores, strict=True):
        recorded = record.metric(metric)
        if recorded is not None and recorded.value is not None and abs(recorded.value - score) > _ROUNDING:
            raise UserError(
                f"the rows of {record.key[:12]} give {metric} {score:.5f}, and the record says {recorded.value:.5f}: "
                "they are of another run; run the cell again with --fresh"
            )
    return ModelPair(
        rows=len(one.names),
        metric=f"{metric}, {one.part}" if one.part else metric,
        scores=scores,
        difference=scores[0] - scores[1],
        interval=interval,
        only=only,
        p=mcnemar(*only) if only else None,
    )


def mcnemar(first_only: int, second_only: int) -> float:
    """The exact two-sided p of McNemar's test (1947): a sign test over the rows that one model alone has right."""
    total = first_only + second_only
    return min(1.0, 2 * float(bdtr(min(first_only, second_only), total, 0.5))) if total else 1.0


def paired_bootstrap(first: NDArray[np.float64], second: NDArray[np.float64], *, seed: int = 0) -> Interval:
    """Percentiles, at 95 %, of the mean difference over rows drawn anew, the same rows for both.

    Args:
        first, second: (rows,), what each row adds to the score: right or wrong, an error, a query's nDCG.

    Raises:
        ValueError: not as many of one as of the other, or none.
    """
    if first.shape != second.shape or not first.size:
        raise ValueError(f"{first.size} rows against {second.size}: both must be of the same rows, and there be some")
    # how often each distinct difference is drawn is multinomial, which spares drawing row by row
    values, counts = np.unique(first - second, return_counts=True)
    draw = np.random.default_rng(seed).multinomial(first.size, counts / first.size, size=_ROUNDS)
    return _percentiles(draw @ values / first.size)


def _one(text: str) -> Seeds:
    """The one triple of seeds that a text names; a number stands for all three."""
    if text.isdecimal():
        return Seeds(int(text), int(text), int(text))
    (only, *more) = parse_seeds(text)
    if more:
        raise UserError(f"--seed {text} names {1 + len(more)} models; name one, such as sample=1,init=0,order=0")
    return only


def _by_rank(one: _Rows, two: _Rows) -> tuple[tuple[float, float], Interval]:
    """Spearman's correlation of each with the gold scores, and the interval of the difference: rows are drawn anew."""
    gold, *said = (np.array(values, float) for values in (one.gold, one.predicted, two.predicted))
    draw = np.random.default_rng(0)
    drawn = (draw.integers(len(gold), size=len(gold)) for _ in range(_ROUNDS))
    differences = [spearman(gold[at], said[0][at]) - spearman(gold[at], said[1][at]) for at in drawn]
    return (spearman(gold, said[0]), spearman(gold, said[1])), _percentiles(np.array(differences))


def _percentiles(differences: NDArray[np.float64]) -> Interval:
    low, high = np.quantile(differences, [0.025, 0.975])
    return Interval(float(low), float(high))


def _metric(record: Record, rows: _Rows) -> str:
    """What rows like these give: classes the accuracy, scores the main metric if it is one of two."""
    if all(isinstance(each, str) for each in rows.gold):
        return "accuracy"
    main = record.main.name if record.main else ""
    if main not in _NUMBERS:
        raise UserError(f"the rows of {record.task} do not give {main or 'a score'}: compare classes, sts or ir")
    return main


def _scored(record: Record, rows: _Rows) -> _Rows:
    """The rows that the main score is made of, where a record has others beside them.

    Texts that are asked twice, with noise and without, or of two sets, are no sample of anything together.
    """
    parts = [name.rsplit(":", 2)[0] if name.count(":") > 1 else "" for name in rows.names]
    main = record.main.name if record.main else ""
    there = sorted(set(parts))
    if len(there) < 2 or main in _NUMBERS:
        return rows
    if main == "noisy" and there[0] == "" and len(there) == 2:
        main = there[1]
    if main not in there:
        listed = ", ".join(part or "clean" for part in there)
        raise UserError(
            f"the rows of {record.task} are of several parts ({listed}), of which no one gives {main or 'a score'}: "
            "compare on a task that asks each row once, as fewshot does"
        )
    kept = [place for place, part in enumerate(parts) if part == main]
    gold, predicted = ([column[place] for place in kept] for column in (rows.gold, rows.predicted))
    return _Rows([rows.names[place] for place in kept], gold, predicted, main)


def _added(metric: str, rows: _Rows) -> NDArray[np.float64]:
    if metric == "ndcg_at_10":
        return np.array(rows.predicted, float)
    return np.array([a == b for a, b in zip(rows.gold, rows.predicted, strict=True)], float)


def _read(results: Path, record: Record) -> _Rows:
    path = results / (record.rows or "")
    if record.rows is None or not path.is_file():
        raise UserError(f"the record {record.key[:12]} has no rows in {results}; published records leave them out")
    table = pq.read_table(path).sort_by("row")
    return _Rows(*(table[name].to_pylist() for name in ("row", "gold", "prediction")))
