"""The fast way to read what a sum vouches for gives what the strict way gives, and refuses what that refuses."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import pytest
from records_by_hand import make_record

from thawbench.contracts import Curve, Seeds
from thawbench.suite.records import Environment, Failure, Record
from thawbench.suite.strict_json import decode, loads
from thawbench.suite.typed_json import decode_written

RECORDS = {
    "scored": replace(
        make_record("frozen", "fewshot/sst2@20", 0.5), curves=(Curve("c", "x", (0.0, 1.0), (1e-300, 1e20)),)
    ),
    "failed": make_record("a|b\n1e5 é \U0001f600", "sts/x", None, status="failed", why="no\x00 room"),
    "unlike": make_record("majority", "sts/y", 1.0, crossed=Seeds(1, 2, 3), dev_score=0.1 + 0.2),
}
ALIKE: frozenset[type] = frozenset({Environment, Seeds, Failure})


def spelled(record: Record) -> bytes:
    return json.dumps(record.to_json(), sort_keys=True).encode()


@pytest.mark.parametrize("alike", [frozenset(), ALIKE])
@pytest.mark.parametrize("name", RECORDS)
def test_both_ways_read_the_same(name: str, alike: frozenset[type]) -> None:
    content = spelled(RECORDS[name])

    found = decode_written(Record, content, alike)

    assert found == decode(Record, loads(content)) == RECORDS[name]
    assert type(found.usage) is type(RECORDS[name].usage)
    assert found.failure is None or type(found.failure) is Failure


def test_what_is_spelled_alike_is_one_object() -> None:
    first, second = (decode_written(Record, spelled(RECORDS[name]), ALIKE) for name in ("scored", "failed"))

    assert first.environment is second.environment
    assert first.metrics is not second.metrics


def test_an_integer_where_a_float_belongs_becomes_one() -> None:
    value = {**RECORDS["scored"].to_json(), "dev_score": 1}

    found = decode_written(Record, json.dumps(value).encode())

    assert type(found.dev_score) is float


Change = Callable[[dict[str, Any]], None]
DAMAGE: dict[str, Change] = {
    "missing": lambda value: value.pop("seeds"),
    "unknown": lambda value: value.update(more=1),
    "unknown inside": lambda value: value["metrics"][0].update(more=1),
    "missing inside": lambda value: value["usage"].pop("texts"),
    "of another type": lambda value: value.update(attempts="1"),
    "a bool as a number": lambda value: value.update(attempts=True),
    "a fraction as an integer": lambda value: value.update(attempts=1.5),
    "no such choice": lambda value: value.update(status="fine"),
    "beyond its bounds": lambda value: value["metrics"][0].update(value=1.5),
    "a stranger in the environment": lambda value: value["environment"].update(more=1),
    "a seed that is a text": lambda value: value["seeds"].update(init="0"),
    "another key": lambda value: value.update(key="0" * 64),
    "another cell": lambda value: value["cell"]["task"].update(name="x"),
    "beyond all floats": lambda value: value.update(dev_score="HUGE"),
    "a whole number beyond all floats": lambda value: value.update(dev_score=10**400),
    "no finite number": lambda value: value.update(dev_score=float("nan")),
}


@pytest.mark.parametrize("alike", [frozenset(), ALIKE])
@pytest.mark.parametrize("name", DAMAGE)
def test_both_ways_refuse_the_same(name: str, alike: frozenset[type]) -> None:
    value = json.loads(spelled(RECORDS["scored"]))
    DAMAGE[name](value)
    content = json.dumps(value).replace('"HUGE"', "1e999").encode()

    with pytest.raises(ValueError, match=r"\w"):
        decode(Record, loads(content))
    with pytest.raises(ValueError, match=r"\w"):
        decode_written(Record, content, alike)


@dataclass(frozen=True)
class Inner:
    kind: Literal["a", "b"]


@dataclass(frozen=True)
class Outer:
    by_name: Mapping[str, Inner]
    listed: tuple[Inner, ...]
    plain: tuple[int, ...]
    perhaps: Inner | None
    anything: Any


def test_dataclasses_are_made_at_any_depth() -> None:
    content = (
        b'{"by_name":{"x":{"kind":"a"}},"listed":[{"kind":"b"}],"plain":[1],"perhaps":null,"anything":{"kind":"a"}}'
    )

    found = decode_written(Outer, content)

    assert found == Outer({"x": Inner("a")}, (Inner("b"),), (1,), None, {"kind": "a"})
    assert found == decode(Outer, loads(content))
