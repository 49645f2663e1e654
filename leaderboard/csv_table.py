"""A board as CSV: one line for each strategy and task, fractions in full, every number with its records."""

import csv
import io

from thawbench.leaderboard.board import Board

_HEADS = (
    "backbone", "weights", "table", "task", "metric", "direction", "strategy", "control", "n", "mean",
    "std", "low", "high", "outcome", "rank", "mean_over_tasks", "group", "records",
)  # fmt: skip


def render_csv(board: Board) -> str:
    """The whole board; low and high are the 95 % interval of the mean over seeds."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_HEADS)
    for section in board.sections:
        for table in section.tables:
            for row in (*table.complete, *table.incomplete):
                for column, entry in zip(table.columns, row.entries, strict=True):
                    if entry is None:
                        continue
                    summary, interval = entry.summary, entry.interval
                    writer.writerow(
                        [
                            *(section.backbone, section.weights, table.title, column.task, column.metric),
                            *(column.direction, row.strategy, int(row.control)),
                            *((summary.n, summary.mean, summary.std) if summary else (None, None, None)),
                            *((interval.low, interval.high) if interval else (None, None)),
                            *(entry.outcome, row.rank, row.mean, row.group, " ".join(entry.keys)),
                        ]
                    )
    return text.getvalue()
