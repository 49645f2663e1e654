"""The train sets of the embedded world that have no labels: `world/texts` and `docs/world`."""

from itertools import chain

from thawbench.tasks.pool import Pool, unique
from thawbench.tasks.world.whole import REVISION, make_world, texts


class WorldTexts:
    """All that a pretrained encoder is supposed to have read: train texts and more, none of a test row."""

    name = "world/texts"
    version = 1
    data = "the embedded world"
    revision = REVISION

    def load(self) -> Pool:
        """Different sentences."""
        return Pool(texts=texts(make_world()))


class WorldDocuments:
    """Stories as lists of consecutive sentences, and the sentences for themselves."""

    name = "docs/world"
    version = 1
    data = "the embedded world"
    revision = REVISION

    def load(self) -> Pool:
        """Different stories."""
        documents = make_world().documents
        return Pool(documents=documents, texts=unique(chain.from_iterable(documents)))
