"""Strategies in a row that have a name of their own."""

from collections.abc import Mapping

NAMED_ROWS: Mapping[str, str] = {
    "mlm_frozen_ebm": "mlm+frozen_ebm",
    "mlm_frozen_ebm_thaw": "mlm+frozen_ebm+ebm:epochs=1",
}
"""Set-ups of the source that this project began from: read on as a masked language model, then an energy-based head on
frozen features, then one epoch of both together. `frozen_ebm` is the third of them. A named row and the row that it
stands for give the same cells.
"""
