"""A board as JSON: all that the other forms show and more, such as every comparison and the performance profiles."""

import dataclasses
import json

from thawbench.leaderboard.board import Board


def render_json(board: Board) -> str:
    """Fractions in full; names as in the dataclasses."""
    # the only values that JSON lacks are sets of names
    return json.dumps(dataclasses.asdict(board), indent=1, sort_keys=True, allow_nan=False, default=sorted) + "\n"
