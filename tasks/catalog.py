"""Tasks by name."""

from thawbench.contracts import Task
from thawbench.errors import UserError
from thawbench.names import TaskName, parse_task
from thawbench.registry import families


def resolve_task(name: str | TaskName) -> Task:
    """The task of that name. The option `train` is the caller's and is left out here.

    Raises:
        UserError: malformed, no such family or task (the nearest names are given), or an option that it lacks.
    """
    parsed = parse_task(name) if isinstance(name, str) else name
    if extra := [key for key, _ in parsed.options if key != "train"]:
        raise UserError(f"task {parsed} has no option {', '.join(extra)}; it takes train=NAME")
    return families.get(parsed.family).resolve(parsed.body)


def known_tasks() -> tuple[str, ...]:
    """The tasks worth listing, by family; families may take more."""
    return tuple(f"{family}/{body}" for family in families.names() for body in families.get(family).known())
