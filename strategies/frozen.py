"""The backbone as it is; the yardstick of every board. Where a task needs classes it gets the standard read-out."""

from thawbench.contracts import Provides, State
from thawbench.registry import strategies
from thawbench.strategies.adapted import AdaptedEncoder, VectorSource
from thawbench.strategies.base import BaseStrategy, source_of


@strategies.register("frozen")
class Frozen(BaseStrategy):
    """Change nothing and learn nothing."""

    provides = frozenset({Provides.VECTORS, Provides.LAYERS})

    def source(self, start: AdaptedEncoder, state: State) -> VectorSource:
        """The start's own."""
        return source_of(start)
