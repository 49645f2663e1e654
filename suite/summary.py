"""What a run says when it is done: one screen, scores first, trouble last."""

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, stdev

from thawbench.suite.record_store import RecordStore
from thawbench.suite.runner import Outcome

WORDS = {"not_applicable": "n/a", "degenerate": "degenerate", "failed": "failed", "timeout": "timeout"}
_ROWS = 30
_REASONS = 5


def cell_text(values: Sequence[Outcome]) -> str:
    """The main scores of one strategy on one task over its seeds, times 100; a word where there is no number."""
    scores = [
        outcome.record.main.value * 100
        for outcome in values
        if outcome.record.status == "ok" and outcome.record.main and outcome.record.main.value is not None
    ]
    words = sorted({WORDS[outcome.record.status] for outcome in values if outcome.record.status != "ok"})
    if not scores:
        return ", ".join(words)
    text = f"{fmean(scores):.2f}"
    if len(scores) > 1:
        text += f" ± {stdev(scores):.2f} ({len(scores)})"
    return ", ".join([text, *words])


def score_table(outcomes: Sequence[Outcome]) -> tuple[list[str], list[list[str]]]:
    """Headers and rows: a task a row, a strategy a column."""
    strategies = list(dict.fromkeys(outcome.record.strategy for outcome in outcomes))
    tasks = list(dict.fromkeys(outcome.record.task for outcome in outcomes))
    grouped: dict[tuple[str, str], list[Outcome]] = {}
    for outcome in outcomes:
        grouped.setdefault((outcome.record.task, outcome.record.strategy), []).append(outcome)
    rows = [[task, *(cell_text(grouped.get((task, strategy), [])) for strategy in strategies)] for task in tasks]
    return ["task", *strategies], rows


def summary(outcomes: Sequence[Outcome], results: Path, fitted: int) -> list[str]:
    """The lines under a run: the table of main scores, then counts and where things are."""
    if not outcomes:
        return []
    header, rows = score_table(outcomes)
    shown = rows[:_ROWS]
    widths = [max(len(row[column]) for row in [header, *shown]) for column in range(len(header))]
    lines = [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in [header, *shown]
    ]
    if len(rows) > len(shown):
        lines.append(f"… and {len(rows) - len(shown)} tasks more")
    lines += ["", *_reasons(outcomes), counts(outcomes, results, fitted)]
    return lines


def _reasons(outcomes: Sequence[Outcome]) -> list[str]:
    """Why cells have no number, each reason once."""
    records = [outcome.record for outcome in outcomes]
    reasons = dict.fromkeys(f"{WORDS[record.status]}: {record.reason}" for record in records if record.reason)
    shown = list(reasons)[:_REASONS]
    if len(reasons) > len(shown):
        shown.append(f"… and {len(reasons) - len(shown)} reasons more, in the records")
    return shown


def counts(outcomes: Sequence[Outcome], results: Path, fitted: int) -> str:
    """One line: how many cells, how many of them were there before, what was fitted, where it lies."""
    cached = sum(outcome.cached for outcome in outcomes)
    return (
        f"{len(outcomes)} cells, {cached} cached, {fitted} adaptations fitted; records in {results}/, "
        "main scores times 100 (mean ± std over n seeds); board: thawbench leaderboard"
        + ("" if str(results) == "results" else f" --results {results}")
    )


def damage(records: RecordStore) -> list[str]:
    """One line for each record that could not be read."""
    return [
        f"note: a damaged record was set aside as {path.name}, and its cell run again ({what})"
        for path, what in records.damaged.items()
    ]
