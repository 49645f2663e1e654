"""Train sets that hold test rows of a task under another name: what has read them is not measured there.

Of shipped sets a table tells before anything runs. A user's own set is compared when the rows are there.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self, runtime_checkable

from thawbench.contracts import Input, Task
from thawbench.errors import NotApplicableError
from thawbench.tasks.labelled_set import LabelledSet, Split, text_key
from thawbench.tasks.trainsets import is_own, taught

_MR, _STSB, _MRPC = "rotten_tomatoes", "stsb", "mrpc"
MOST_SHARED = 0.1
"""Of the test rows of one set as many may be train rows of another; with more they are one domain. The table below has
pairs with less, too."""
_OF_SETS = ("fewshot", "noise", "layers", "forgetting", "two_classifiers", "shift")
"""The families that test on the test rows of the labelled sets that they name."""
_SHARED: Mapping[tuple[str, str], tuple[int, int]] = {
    # STSbenchmark was drawn from STS12 to STS17 (Cer et al. 2017, table 1); rows whose two sentences our `stsb` has
    (_STSB, "sts/STS12"): (997, 3108),
    (_STSB, "sts/STS13"): (597, 1500),
    (_STSB, "sts/STS14"): (1853, 3750),
    (_STSB, "sts/STS15"): (1097, 3000),
    (_STSB, "sts/STS16"): (196, 1186),
    # MR, SST-2 and SST-5 are the same film reviews, split three times
    (_MR, "sst2"): (731, 872),
    (_MR, "sst5"): (1702, 2210),
    ("sst2", _MR): (761, 1066),
    ("sst5", _MR): (882, 1066),
    # SentEval tests MR, SUBJ and MPQA in folds, train rows too, and SST-2 on the rows whose labels SST-5 gives. SUBJ
    # has texts of MR besides, but its labels do not tell theirs.
    (_MR, "senteval/mr"): (8530, 10662),
    ("sst2", "senteval/mr"): (5636, 10662),
    ("sst5", "senteval/mr"): (6532, 10662),
    (_MR, "senteval/sst2"): (1431, 1821),
    ("subj", "senteval/subj"): (8002, 10000),
    ("mpqa", "senteval/mpqa"): (7548, 10603),
    # MPQA's phrases are short, and SST-2 has many as phrases of its own, with classes of the same names
    ("sst2", "mpqa"): (167, 2000),
    ("sst2", "senteval/mpqa"): (937, 10603),
    # MSRpar, a part of STS12 and of STSbenchmark, was drawn from MRPC
    (_MRPC, "sts/STS12"): (683, 3108),
    (_MRPC, "sts/STSBenchmark"): (119, 1379),
    (_MRPC, _STSB): (119, 1379),
    (_STSB, _MRPC): (48, 408),
    (_STSB, "senteval/mrpc"): (499, 1725),
}
"""How many test rows of a task or a labelled set (of how many) stand in the first one's train split; exact matches of
normalised text."""


def leak(task: str, train: str) -> str:
    """Why the task cannot measure what was adapted to this train set, as one clause; empty if it can.

    Args:
        task: its name; `train`: the set's, both with @n or without, and with noise or without.
    """
    base, tested = _bare(train), task.partition(":")[0]
    family, _, body = tested.partition("/")
    sets = [_bare(part) for part in re.split("[+~]", body)] if family in _OF_SETS else [tested]
    for name in sets:
        if shared := _SHARED.get((base, name)):
            found, of = shared
            whose = task if len(sets) == 1 else f"{name} in {task}"
            return f"{base} holds {found:,} of the {of:,} test rows of {whose}; adapt to another set"
    return ""


@dataclass(frozen=True)
class Asked:
    """The test rows of one set.

    Attributes:
        name: the set's.
        own: whether it is a user's.
        items: what is asked.
    """

    name: str
    own: bool
    items: tuple[Input, ...]

    @classmethod
    def of(cls, asked: LabelledSet, test: Split) -> Self:
        """A labelled set's test rows, all or some."""
        return cls(asked.name, asked.own, tuple(row.input for row in test.rows))


@runtime_checkable
class Asking(Protocol):
    """A task that says what it asks, so that it can be compared with what was taught."""

    def asked(self, data: Any) -> tuple[Asked, ...]:
        """Its test rows by set.

        Args:
            data: what the task's `load` gave.
        """
        ...


def check_unseen(task: Task, data: Any, trained_on: Iterable[str]) -> None:
    """See that nothing that the task asks was taught, where either is a user's own.

    Args:
        data: the task's rows.
        trained_on: the names of the train sets, with n and noise or without.

    Raises:
        NotApplicableError: more than a tenth of a set's test rows are train rows of another.
        DataUnavailableError: a train set is not to be had.
    """
    if not isinstance(task, Asking):
        return
    tests = task.asked(data)
    for train in dict.fromkeys(_bare(name) for name in trained_on):
        compared = [asked for asked in tests if asked.own or is_own(train)]
        known = taught(train) if compared else frozenset()
        for asked in compared:
            shared = sum(text_key(item) in known for item in asked.items)
            if shared > MOST_SHARED * len(asked.items):
                raise NotApplicableError(
                    f"{shared} of the {len(asked.items)} test rows of {asked.name} are train rows of {train}; "
                    "take sets of different origin"
                )


def _bare(name: str) -> str:
    """A set's name without n and noise."""
    return re.split("[@~]", name, maxsplit=1)[0]
