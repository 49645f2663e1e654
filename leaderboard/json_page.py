"""A board as JSON: all that the other forms show and more, such as every comparison and the performance profiles."""

import dataclasses
import json
from typing import Any

from thawbench.leaderboard.board import Board


def render_json(board: Board) -> str:
    """Fractions in full; names as in the dataclasses."""
    return json.dumps(board, indent=1, sort_keys=True, allow_nan=False, default=_plain) + "\n"


def _plain(value: Any) -> Any:
    """What JSON lacks: dataclasses, and sets of names."""
    if isinstance(value, frozenset):
        return sorted(value)
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
