"""Some of a train set's unlabelled pool, for a teacher to label."""

from thawbench.contracts import TrainSet
from thawbench.strategies.randomness import generator


def pool_sample(data: TrainSet, size: int, seed: int) -> list[str]:
    """At most `size` texts, drawn from the order stream, that are no row's: neither a train nor a dev row's."""
    own: set[str] = set()
    for row in (*data.labelled, *data.dev.labelled):
        own |= {row.input} if isinstance(row.input, str) else set(row.input)
    others = [text for text in data.texts if text not in own]
    order = generator(seed, "pool").permutation(len(others))
    return [others[place] for place in order[:size]]
