"""The train set `nli`: pairs with a relation, from MultiNLI and SNLI."""

from collections.abc import Iterator
from typing import Any, cast, get_args

from thawbench.contracts import Pair, Relation
from thawbench.errors import DataUnavailableError
from thawbench.tasks.hub import load_split
from thawbench.tasks.pool import Pool, unique

# (data set, configuration, revision)
_PARTS = (
    ("nyu-mll/glue", "mnli", "bcdcba79d07bc864c1c254ccfcedcce55bcc9a8c"),
    ("stanfordnlp/snli", None, "cdb5c3d5eed6ead6e5a341c8e56e669bb666725b"),
)


class Nli:
    """Premise and hypothesis with their relation, the whole train splits of both; the texts are all that occur."""

    name = "nli"
    version = 1
    data = "+".join(dataset for dataset, _, _ in _PARTS)
    revision = "+".join(revision[:12] for _, _, revision in _PARTS)

    def load(self) -> Pool:
        """MultiNLI's rows, then SNLI's. Rows without a gold label are dropped.

        Raises:
            DataUnavailableError: not to be had, or with other labels than the three relations.
        """
        pairs: list[Pair] = []
        seen = 0
        for dataset, config, revision in _PARTS:
            rows = load_split(dataset, config, "train", revision, self.name)
            seen += len(rows)
            pairs.extend(pairs_of(rows, dataset))
        texts = unique(text for pair in pairs for text in (pair.a, pair.b))
        return Pool(pairs=tuple(pairs), texts=texts, dropped=seen - len(pairs))


def pairs_of(rows: Any, dataset: str) -> Iterator[Pair]:
    """Pairs out of a `datasets.Dataset`, their relation by the label's name; unlabelled rows (below 0) are left out.

    Raises:
        DataUnavailableError: its labels are not the three relations by name.
    """
    names = getattr(rows.features["label"], "names", [])
    if sorted(names) != sorted(get_args(Relation)):
        raise DataUnavailableError(
            f"the labels of {dataset} are called {', '.join(names) or 'nothing'}, not {', '.join(get_args(Relation))}; "
            "point HF_ENDPOINT to a Hub that serves the original"
        )
    for a, b, label in zip(rows["premise"], rows["hypothesis"], rows["label"], strict=True):
        if label is not None and label >= 0:
            yield Pair(a, b, relation=cast("Relation", names[label]))
