"""Two trained models on the same test rows: McNemar's test and a paired bootstrap.

Both speak of these two sets of weights on other rows like these. They do not say which strategy is better: another seed
gives other weights, and only `comparison` has seen more than one.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray
from scipy.special import bdtr

from thawbench.errors import UserError
from thawbench.leaderboard.statistics import Interval
from thawbench.suite.records import Record

_ROUNDS = 2000


@dataclass(frozen=True)
class ModelPair:
    """The first model against the second.

    Attributes:
        rows: how many test rows.
        first_only, second_only: rows that one alone has right.
        difference: in accuracy; above 0 the first is better.
        interval: of the difference over rows, 95 %, by bootstrap.
        p: McNemar's exact test, two-sided.
    """

    rows: int
    first_only: int
    second_only: int
    difference: float
    interval: Interval
    p: float


def compare_models(results: Path, first: Record, second: Record) -> ModelPair:
    """Two records of one task with classes, by their rows.

    Raises:
        UserError: a record has no rows here or no classes in them, or the two are not of the same rows.
    """
    right, rows = zip(*(_right(results, record) for record in (first, second)), strict=True)
    if rows[0] != rows[1]:
        raise UserError(
            f"the records {first.key[:12]} and {second.key[:12]} are not of the same rows; compare two of one task"
        )
    only = [int((right[a] & ~right[b]).sum()) for a, b in ((0, 1), (1, 0))]
    return ModelPair(
        rows=len(right[0]),
        first_only=only[0],
        second_only=only[1],
        difference=(only[0] - only[1]) / len(right[0]),
        interval=paired_bootstrap(right[0].astype(float), right[1].astype(float)),
        p=mcnemar(*only),
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
    low, high = np.quantile(draw @ values / first.size, [0.025, 0.975])
    return Interval(float(low), float(high))


def _right(results: Path, record: Record) -> tuple[NDArray[np.bool_], list[str]]:
    path = results / (record.rows or "")
    if record.rows is None or not path.is_file():
        raise UserError(f"the record {record.key[:12]} has no rows in {results}; published records leave them out")
    table = pq.read_table(path).sort_by("row")
    gold, predicted = table["gold"].to_pylist(), table["prediction"].to_pylist()
    if not all(isinstance(each, str) for each in gold):
        raise UserError(f"the rows of {record.task} are scores and no classes; accuracy cannot be compared")
    return np.array([a == b for a, b in zip(gold, predicted, strict=True)]), table["row"].to_pylist()
