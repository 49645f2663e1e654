"""A record: its key, and what it refuses."""

import json
from typing import Any

import pytest
from full_record import make_cell, make_record

from thawbench.suite.records import (
    Failure,
    MetricValue,
    canonical_json,
    key_of,
)

# ---- canonical JSON and keys ----------------------------------------------------------------------------------------


def test_canonical_json_sorts_keys_at_every_depth_and_leaves_no_spaces() -> None:
    assert (
        canonical_json({"b": [1, 2.5, None], "a": {"z": True, "é": "ü"}}) == '{"a":{"z":true,"é":"ü"},"b":[1,2.5,null]}'
    )


def test_canonical_json_is_its_own_fixed_point() -> None:
    text = canonical_json({"x": 0.1 + 0.2, "y": 1e-300, "z": [1, 1.0]})
    assert canonical_json(json.loads(text)) == text


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {"a": [float("-inf")]}])
def test_canonical_json_refuses_what_is_not_finite(value: Any) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        canonical_json(value)


def test_canonical_json_refuses_keys_that_are_not_strings() -> None:
    with pytest.raises(TypeError, match="1 is a key"):
        canonical_json({"a": [{1: "x"}]})


def test_a_key_is_the_sha256_of_the_canonical_json_whatever_the_order_of_insertion() -> None:
    # printf '{"a":1,"b":2}' | sha256sum
    assert key_of({"b": 2, "a": 1}) == "43258cff783fe7036d8a43033f830adfc60ec037382473548ac742b888292777"


# ---- what a record refuses ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [1.1, -1.1, float("nan"), float("inf")])
def test_a_metric_outside_its_bounds_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="spearman"):
        MetricValue("spearman", value, lower=-1.0)


def test_a_correlation_that_rounding_lifted_above_one_is_kept() -> None:
    assert MetricValue("spearman", 1.0000000000000002, lower=-1.0).value == 1.0000000000000002


def test_a_metric_without_bounds_takes_any_finite_value() -> None:
    assert MetricValue("energy", -123.0, direction="none", lower=None, upper=None).value == -123.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"key": "0" * 64}, "key is not the SHA-256"),
        ({"metrics": ()}, "no main value"),
        ({"metrics": (MetricValue("spearman", None, main=True),)}, "no main value"),
        ({"status": "failed"}, "failure is missing"),
        ({"status": "timeout"}, "failure is missing"),
        ({"status": "degenerate"}, "reason is empty"),
        ({"status": "not_applicable"}, "reason is empty"),
    ],
)
def test_a_record_that_contradicts_itself_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_record(**changes)


@pytest.mark.parametrize("path", [("task", "revision"), ("adaptation", "backbone"), ("adaptation", "steps")])
def test_a_cell_that_lacks_a_part_is_refused_by_name(path: tuple[str, str]) -> None:
    cell = make_cell()
    del cell[path[0]][path[1]]
    with pytest.raises(ValueError, match=f"cell lacks a part.*{path[1]}"):
        make_record(cell=cell, key=key_of(cell))


def test_only_ok_and_degenerate_are_final() -> None:
    failure = Failure("ValueError", "no", "")
    assert make_record().final
    assert make_record(status="degenerate", reason="constant").final
    assert not make_record(status="failed", failure=failure).final
    assert not make_record(status="timeout", failure=failure).final
    assert not make_record(status="not_applicable", reason="no labels").final
