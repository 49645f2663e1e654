"""Train sets that hold test rows of a task under another name: what has read them is not measured there."""

from collections.abc import Mapping

_MR, _STSB = "rotten_tomatoes", "stsb"
_OF_SETS = ("fewshot", "noise", "layers")
"""The families that test on the test rows of the labelled set that they name."""
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
}
"""How many test rows of a task or a labelled set (of how many) stand in the first one's train split; exact matches of
normalised text."""


def leak(task: str, train: str) -> str:
    """Why the task cannot measure what was adapted to this train set, as one clause; empty if it can.

    Args:
        task: its name; `train`: the set's, both with @n or without.
    """
    base, (tested, _, _) = train.partition("@")[0], task.partition("@")
    family, _, labelled = tested.partition("/")
    shared = _SHARED.get((base, labelled if family in _OF_SETS else tested))
    if shared is None:
        return ""
    found, of = shared
    return f"{base} holds {found:,} of the {of:,} test rows of {task}; adapt to another set"
