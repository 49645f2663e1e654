"""What a head says of test rows: predictions, classes by name, and their scores."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import cast

import numpy as np

from thawbench.contracts import Adapted, ClassTarget, ScoredRow, Scores, ScoreTarget, Target
from thawbench.errors import DegenerateError, NotApplicableError
from thawbench.tasks.classification_scores import class_scores, number_scores
from thawbench.tasks.labelled_set import Split


def head_scores(
    task: str,
    adapted: Adapted,
    head: str,
    target: Target,
    test: Split,
    names: Sequence[str],
    groups: Mapping[str, str] = MappingProxyType({}),
) -> Scores:
    """Let a head predict test rows; a row is `test:` and its place in the split.

    Args:
        task: for messages.
        target: what the test rows' labels are.
        names: the scores to take, out of `classification_scores`.
        groups: each class's group, for the scores by groups.

    Raises:
        NotApplicableError: the head predicts something else; the names that differ are given.
        DegenerateError: predictions that are not finite, or constant where a correlation is asked for.
    """
    given = adapted.heads[head]
    _check_target(task, target, head, given)
    raw = np.asarray(adapted.predict([row.input for row in test.rows], head))
    if not np.isfinite(raw).all():
        raise DegenerateError(f"{task}: predictions of the head on {head} are not finite")
    rows = [f"test:{place}" for place in test.places]
    if isinstance(given, ClassTarget):
        gold = [str(row.label) for row in test.rows]
        predicted = [given.classes[column] for column in raw.argmax(axis=1)]
        listed = [ScoredRow(*row) for row in zip(rows, gold, predicted, strict=True)]
        return Scores(class_scores(names, gold, predicted, groups), rows=tuple(listed))
    truth = [float(cast("float", row.score)) for row in test.rows]
    numbers = [float(value) for value in raw[:, 0]]
    listed = [ScoredRow(*row) for row in zip(rows, truth, numbers, strict=True)]
    return Scores(number_scores(names, truth, numbers), rows=tuple(listed))


def _check_target(task: str, own: Target, head: str, given: Target) -> None:
    if isinstance(own, ScoreTarget) and isinstance(given, ScoreTarget):
        return
    if isinstance(own, ClassTarget) and isinstance(given, ClassTarget):
        lacking = sorted(set(own.classes) - set(given.classes))
        beyond = sorted(set(given.classes) - set(own.classes))
        if not lacking and not beyond:
            return
        parts = [f"lacks {', '.join(lacking[:5])}"] if lacking else []
        parts += [f"has {', '.join(beyond[:5])} beside"] if beyond else []
        raise NotApplicableError(f"{task}: the head fitted on {head} {' and '.join(parts)}")
    kinds = ["classes" if isinstance(target, ClassTarget) else "a score" for target in (own, given)]
    raise NotApplicableError(f"{task} asks for {kinds[0]}; the head fitted on {head} predicts {kinds[1]}")
