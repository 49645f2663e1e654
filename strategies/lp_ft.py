"""Linear probing, then fine-tuning: Kumar et al., "Fine-Tuning can Distort Pretrained Features", ICLR 2022."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from thawbench.contracts import FloatArray, Input, Labelled, Rows, TrainSet
from thawbench.registry import strategies
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.classifier import Classifier, joint_vectors
from thawbench.strategies.finetune import Finetune, FinetuneConfig
from thawbench.strategies.readout import learn_readout
from thawbench.strategies.sources import LayerlessSource


@dataclass(frozen=True)
class LpFtConfig(FinetuneConfig):
    """As `finetune`'s; the head is linear, as the read-out is."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.head != "linear":
            raise ValueError("head must be linear: it begins as the read-out")


@strategies.register("lp_ft")
class LpFt(Finetune):
    """The standard read-out on the start's vectors, then `finetune` from there. The read-out itself may be the best."""

    Config = LpFtConfig
    config: LpFtConfig
    draws = frozenset({"order"})

    def warm_start(self, start: AdaptedEncoder, data: TrainSet, head: Classifier) -> bool:
        """Begin as the read-out of what the head reads."""
        if head.items == "joint":
            start, data = _joint_as_texts(start, data)
        return head.take_readout(learn_readout(start, data, refit=False))


def _joint_as_texts(start: AdaptedEncoder, data: TrainSet) -> tuple[AdaptedEncoder, TrainSet]:
    """The set with each pair as one text, and an encoder that reads these: the read-out knows no other way."""
    pairs = [row.input for row in (*data.labelled, *data.dev.labelled)]
    vectors = dict(zip(map(_text, pairs), joint_vectors(start.source, pairs), strict=True))

    def as_texts(rows: Sequence[Labelled]) -> tuple[Labelled, ...]:
        return tuple(replace(row, input=_text(row.input)) for row in rows)

    data = replace(data, labelled=as_texts(data.labelled), dev=Rows(labelled=as_texts(data.dev.labelled)))
    return AdaptedEncoder(_Table(vectors)), data


def _text(item: Input) -> str:
    return repr(item)


class _Table(LayerlessSource):
    """Vectors that are known already, by text."""

    key = "known vectors"

    def __init__(self, known: Mapping[str, FloatArray]) -> None:
        self._known = known
        self.dim = len(next(iter(known.values())))

    def vectors(self, texts: Sequence[str]) -> FloatArray:
        return np.stack([self._known[text] for text in texts])
