"""A board as JSON: all that the other forms show and more, such as every comparison and the performance profiles."""

import dataclasses
import json
from typing import Any

import msgspec

from thawbench.leaderboard.board import Board
from thawbench.suite.record_store import published
from thawbench.suite.records import Record


def render_json(board: Board) -> str:
    """Fractions in full; names as in the dataclasses."""
    text = json.dumps(board, sort_keys=True, allow_nan=False, ensure_ascii=False, default=_plain)
    spelled = text.encode("utf-8", "replace")  # a message may hold half a surrogate pair
    # json.dumps itself indents in Python, at a tenth of the speed
    return msgspec.json.format(spelled, indent=1).decode("utf-8") + "\n"


def _plain(value: Any) -> Any:
    """What JSON lacks: dataclasses, and sets of names. Of records what may be published."""
    if isinstance(value, Record):
        value = published(value)
    if isinstance(value, frozenset):
        return sorted(value)
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
