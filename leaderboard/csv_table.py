"""A board as CSV: one line for each strategy and task, fractions in full, every number with its records."""

import csv
import io
from collections.abc import Iterator
from typing import Any

from thawbench.leaderboard.board import Board, Section
from thawbench.leaderboard.relevance import RELEVANCE, SIMILARITY, Relevance

_HEADS = (
    "backbone", "weights", "table", "task", "metric", "direction", "strategy", "control", "n", "mean",
    "std", "low", "high", "outcome", "rank", "mean_over_tasks", "group", "records", "source",
)  # fmt: skip
_Line = dict[str, Any]


def render_csv(board: Board) -> str:
    """The whole board; low and high are the 95 % interval of the mean over seeds.

    What others published has the outcome `published`, its source, and no records, rank or backbone.
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, _HEADS, lineterminator="\n")
    writer.writeheader()
    lines = [line for section in board.sections for line in _measured(section)]
    # the same on every backbone
    published = {tuple(line.items()): line for section in board.sections for line in _published(section)}
    writer.writerows([*lines, *published.values(), *(_relevance(board.relevance) if board.relevance else ())])
    return text.getvalue()


def _measured(section: Section) -> Iterator[_Line]:
    for table in section.tables:
        for row in (*table.complete, *table.incomplete):
            for column, entry in zip(table.columns, row.entries, strict=True):
                if entry is None:
                    continue
                summary, interval = entry.summary, entry.interval
                yield {
                    "backbone": section.backbone,
                    "weights": section.weights,
                    "table": table.title,
                    "task": column.task,
                    "metric": column.metric,
                    "direction": column.direction,
                    "strategy": row.strategy,
                    "control": int(row.control),
                    **({"n": summary.n, "mean": summary.mean, "std": summary.std} if summary else {}),
                    **({"low": interval.low, "high": interval.high} if interval else {}),
                    "outcome": entry.outcome,
                    "rank": row.rank,
                    "mean_over_tasks": row.mean,
                    "group": row.group,
                    "records": " ".join(entry.keys),
                }


def _published(section: Section) -> Iterator[_Line]:
    for table in section.tables:
        for row in table.references:
            for column, found in zip(table.columns, row.scores, strict=True):
                if found is not None:
                    yield {
                        "table": table.title,
                        "task": column.task,
                        "metric": column.metric,
                        "direction": column.direction,
                        "strategy": row.model,
                        "mean": found.value,
                        "std": found.std,
                        "outcome": "published",
                        "source": f"{row.source}; {row.protocol}",
                    }


def _relevance(relevance: Relevance) -> Iterator[_Line]:
    for point in relevance.points:
        for family, mean, rank in (
            (RELEVANCE, point.relevance, point.relevance_rank),
            (SIMILARITY, point.similarity, point.similarity_rank),
        ):
            yield {
                "backbone": point.backbone,
                "table": "relevance against similarity",
                "task": family,
                "metric": "mean over tasks",
                "strategy": point.strategy,
                "control": int(point.control),
                "mean": mean,
                "outcome": "ok",
                "rank": rank,
                "records": " ".join(point.keys),
            }
