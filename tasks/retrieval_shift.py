"""`shift/<train set>~<retrieval task>`: what tuning on one set does to search in another field."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from thawbench.contracts import Adapted, Metric, Provides, ScoredRow, Scores
from thawbench.tasks.fingerprint import fingerprint
from thawbench.tasks.ir import Ir
from thawbench.tasks.mteb_task import Loaded
from thawbench.tasks.shift_measures import loss_metrics, losses

_MAIN = "ndcg_at_10"


@dataclass
class Search:
    """A loaded collection, and what the backbone that was last asked found in it.

    One backbone is measured once for all that starts from it: a search takes minutes.
    """

    loaded: Loaded
    backbone: Adapted | None = None
    found: Scores | None = None


class RetrievalShift:
    """How well vectors search in a collection after they were tuned on something else, against the backbone's own.

    Sets of pairs such as `nli` have no queries and no judgements, so there is no score in domain that an nDCG could be
    held against (a correlation on STS is on another scale). What is given is `shifted`, the nDCG@10 on the collection,
    `backbone`, that of the untuned backbone on the same queries, and `losses` from the second to the first, with a
    chance of 0.

    Args:
        trained: the train set, with its n.
        search: the retrieval task.
    """

    family: ClassVar[str] = "shift"
    version: ClassVar[int] = 1
    needs: ClassVar[Provides] = Provides.VECTORS
    corpus: ClassVar[None] = None

    def __init__(self, trained: str, search: Ir) -> None:
        self.trained = trained
        self.search = search

    @property
    def name(self) -> str:
        """The family, the train set and the collection as `ir/` spells it."""
        return f"{self.family}/{self.trained}~{self.search.listing.name}"

    @property
    def train(self) -> tuple[str, ...]:
        """The train set."""
        return (self.trained,)

    @property
    def revision(self) -> str:
        """That of the collection."""
        return self.search.revision

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Means over queries."""
        return (Metric("shifted", main=True), Metric("backbone"), *loss_metrics(1.0))

    def fingerprint(self) -> str:
        """SHA-256 over that of the collection and the version of its task.

        Raises:
            DataUnavailableError: never seen, and not to be had now.
        """
        return fingerprint([[self.search.version, self.search.fingerprint()]])

    def load(self) -> Search:
        """The collection.

        Raises:
            DataUnavailableError: not to be had, or not that of the manifest.
        """
        return Search(self.search.load())

    def evaluate(self, trail: Sequence[Adapted], data: Search) -> Scores:
        """Search twice, with the first and the last of the trail; a row is a query, its gold the relevant documents.

        Raises:
            DegenerateError: vectors that are constant or not finite.
        """
        tuned = self.search.evaluate(trail[-1:], data.loaded)
        if data.found is None or data.backbone is not trail[0]:
            data.backbone, data.found = trail[0], self.search.evaluate(trail[:1], data.loaded)
        untuned = data.found
        before, after = untuned.scalars[_MAIN], tuned.scalars[_MAIN]
        return Scores(
            {"shifted": after, "backbone": before, **losses(before, after, 0.0, 0.0)},
            rows=tuple(
                ScoredRow(f"{side}:{row.row}", row.gold, row.prediction)
                for side, scores in (("shifted", tuned), ("backbone", untuned))
                for row in scores.rows
            ),
        )
