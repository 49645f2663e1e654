"""What a run says when it is done."""

from pathlib import Path
from typing import Any, cast

import pytest
from records_by_hand import make_record

from thawbench.suite.runner import Outcome
from thawbench.suite.summary import summary


def outcome(task: str, **values: Any) -> Outcome:
    return Outcome(cast(Any, None), make_record("frozen", task, **values), cached=False)


@pytest.mark.parametrize(("count", "more"), [(1, ""), (5, ""), (7, "… and 2 reasons more, in the records")])
def test_each_reason_for_a_missing_number_is_told_once(count: int, more: str) -> None:
    missing = [outcome(f"sts/{row}", status="not_applicable", why=f"reason {row // 2}") for row in range(2 * count)]
    lines = summary([outcome("sts/one", value=0.5), *missing], Path("results"), 1)

    told = [line for line in lines if line.startswith("n/a: ")]
    assert told == [f"n/a: reason {number}" for number in range(min(count, 5))]
    assert [line for line in lines if "reasons more" in line] == ([more] if more else [])
    assert lines[-1].startswith(f"{2 * count + 1} cells")
