"""Whether the strategies and tasks that claims name exist: boards cannot know, as they import neither."""

from collections.abc import Sequence
from dataclasses import replace

from thawbench.errors import UserError, unknown
from thawbench.leaderboard.claim_statement import Claim
from thawbench.names import parse_chain, parse_task
from thawbench.suite.plan import chosen_strategies
from thawbench.suite.records import Record
from thawbench.tasks.catalog import resolve_task
from thawbench.tasks.trainsets import known_trainsets


def check_names(claims: Sequence[Claim], records: Sequence[Record]) -> None:
    """Look every name up that has no record yet; one that has was known to whoever ran it.

    Raises:
        UserError: a strategy, a task, a train set or an option does not exist (the nearest names are given), or is
            spelled otherwise in records.
    """
    known = {record.strategy for record in records} | {record.task for record in records}
    for claim in claims:
        names = dict.fromkeys(cell for part in claim.parts for cell in part.cells)
        try:
            for strategy in dict.fromkeys(strategy for strategy, _ in names if strategy not in known):
                chosen_strategies([strategy])
            for task in dict.fromkeys(task for _, task in names if task not in known):
                _check_task(task)
        except UserError as error:
            raise UserError(f"claim {claim.id}: {error}") from None
        known |= {name for cell in names for name in cell}


def _check_task(task: str) -> None:
    given = parse_task(task)
    train = [option for option in given.options if option[0] == "train"]
    for name in (each for _, chain in train for each in parse_chain(chain)):
        base = name.partition("@")[0].partition("~")[0]
        if base not in known_trainsets():
            raise unknown("train set", base, known_trainsets())
    found = parse_task(resolve_task(given).name)
    spelled = str(replace(found, options=(*found.options, *train)))
    if spelled != task:
        raise UserError(f"the task {task} is spelled {spelled} in records")
