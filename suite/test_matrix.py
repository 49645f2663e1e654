"""One test for each cell of the matrix. A low score is a record and no fault; see `runner.trouble` for what is red."""

import pytest

from thawbench.suite.runner import Outcome
from thawbench.suite.session import Session


def test_cell(session: Session, outcome: Outcome) -> None:
    if outcome.record.status == "not_applicable":
        pytest.skip(outcome.record.reason)
    told = session.trouble(outcome)
    if told:
        failure = outcome.record.failure
        pytest.fail(f"{told}\n{failure.traceback if failure else ''}".rstrip(), pytrace=False)
    assert outcome.record.status == "ok" or outcome.record.control
