"""A board as JSON: all that the other forms show and more, such as every comparison and the performance profiles."""

import dataclasses
import json
from typing import Any

import msgspec

from thawbench.leaderboard.board import Board


def render_json(board: Board) -> str:
    """Fractions in full; names as in the dataclasses."""
    text = json.dumps(board, sort_keys=True, allow_nan=False, default=_plain)
    return msgspec.json.format(text, indent=1) + "\n"  # json.dumps itself indents in Python, at a tenth of the speed


def _plain(value: Any) -> Any:
    """What JSON lacks: dataclasses, and sets of names."""
    if isinstance(value, frozenset):
        return sorted(value)
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
