"""Metrics and curves that a claim names and its tasks do not have: told at once, not as cells that are missing."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from thawbench.errors import unknown
from thawbench.leaderboard.claim_reading import SECONDS
from thawbench.leaderboard.claim_statement import Claim, Part
from thawbench.suite.records import Record


def check_metrics(claims: Sequence[Claim], records: Sequence[Record]) -> None:
    """Compare with what records of these tasks hold.

    Raises:
        UserError: a metric or a curve that none of them has, while some have others; the nearest names are given.
    """
    metrics: dict[str, set[str]] = {}
    curves: dict[str, set[str]] = {}
    named = {task for claim in claims for part in claim.parts for task in _all_tasks(part)}
    for record in records:
        if record.status == "ok" and record.task in named:
            metrics.setdefault(record.task, set()).update(metric.name for metric in record.metrics)
            curves.setdefault(record.task, set()).update(curve.name for curve in record.curves)
    for claim in claims:
        for part in claim.parts:
            seconds = part.second_tasks if part.kind == "correlation" else ()
            firsts = part.tasks if seconds else (*part.tasks, *part.second_tasks)
            _check(f"metric of claim {claim.id}", part.metric, firsts, metrics)
            _check(f"metric of claim {claim.id}", part.second_metric or part.metric, seconds, metrics)
            _check(f"curve of claim {claim.id}", part.curve, _all_tasks(part), curves)


def _all_tasks(part: Part) -> tuple[str, ...]:
    return (*part.tasks, *part.second_tasks)


def _check(kind: str, name: str, tasks: Sequence[str], known: dict[str, set[str]]) -> None:
    for task in tasks if name and name not in SECONDS else ():
        names = known.get(task, set())
        if names and not any(fnmatchcase(each, name) for each in names):
            raise unknown(f"{kind} on {task}", name, names)
