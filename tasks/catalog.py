"""Tasks by name."""

from typing import cast

from thawbench.contracts import FamilyWithOptions, Task
from thawbench.errors import unknown
from thawbench.names import TaskName, parse_task
from thawbench.registry import families


def resolve_task(name: str | TaskName) -> Task:
    """The task of that name. The option `train` is the caller's and is left out here.

    Raises:
        UserError: malformed; no such family, task or option (the nearest names are given), or a value out of range.
    """
    parsed = parse_task(name) if isinstance(name, str) else name
    family = families.get(parsed.family)
    optioned = cast("type[FamilyWithOptions]", family) if hasattr(family, "options") else None
    given = {key: value for key, value in parsed.options if key != "train"}
    known = optioned.options() if optioned else ()
    for key in given:
        if key not in known:
            raise unknown(f"option of task {parsed.family}/{parsed.body}", key, ["train", *known])
    return optioned.resolve(parsed.body, given) if optioned else family.resolve(parsed.body)


def known_tasks() -> tuple[str, ...]:
    """The tasks worth listing, by family; families may take more."""
    return tuple(f"{family}/{body}" for family in families.names() for body in families.get(family).known())
