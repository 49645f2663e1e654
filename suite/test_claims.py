"""One test for each claim about what was measured: `pytest suite/ -m claims --results DIR`; nothing is run.

A supported claim passes. A refuted one is an expected failure with the effect for its reason: that a hope was wrong is
a finding, and no fault of the suite. An undecided one is skipped, and says what it lacks.
"""

import pytest

from thawbench.leaderboard.claim_page import in_short
from thawbench.leaderboard.claim_verdict import Verdict

pytestmark = pytest.mark.claims


def test_claim(verdict: Verdict) -> None:
    if verdict.outcome == "undecided":
        pytest.skip(in_short(verdict))
    if verdict.outcome == "refuted":
        pytest.xfail(in_short(verdict))
    assert verdict.outcome == "supported"
