"""How long a board of many records takes, and how much memory. No time is ever asserted; memory is.

    THAWBENCH_BOARD_RECORDS=100000 pytest tests/benchmarks/test_board_scale.py -s

prints processor seconds of a fresh process from a packed folder to all four formats, by stage, and its peak memory.
"""

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from records_by_hand import make_record

from thawbench.contracts import Seeds
from thawbench.suite.record_store import write_packed
from thawbench.suite.records import MetricValue, Record, Usage

FAMILIES = ("ir", "sts", "fewshot", "noise", "shift", "forgetting", "classify", "senteval", "geometry", "layers")
STRATEGIES, SEEDS, TASKS = 50, 10, 10
PACKAGES = {f"library{number}": f"{number}.{number}.0" for number in range(11)}
LIMIT_GIB = 2

READER = """
import json, resource, sys, time
from pathlib import Path
stages, began = {}, time.process_time()
def stage(name):
    global began
    stages[name], began = time.process_time() - began, time.process_time()
from thawbench.leaderboard.board import build_board
from thawbench.leaderboard.publish import FORMATS
from thawbench.suite.record_store import RecordStore, uncollected
stage("import")
with uncollected():  # as `edition_of` has it
    records = RecordStore(Path(sys.argv[1]), read_only=True).all()
    stage("read")
    board = build_board(records)
    stage("tables")
    sizes = {name: len(render(board)) for name, render in FORMATS.items()}
    stage("formats")
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps({"records": board.records, "stages": stages, "sizes": sizes, "gib": peak / 2**30}))
"""


def many_records(count: int) -> Iterator[Record]:
    """So many different records as a large matrix leaves them: families, backbones, seeds, failures, controls."""
    draw = random.Random(0)
    made = 0
    for backbone in range(count):
        for family in FAMILIES:
            for task in range(TASKS):
                for strategy in range(STRATEGIES):
                    for seed in range(SEEDS):
                        if made == count:
                            return
                        made += 1
                        yield one(draw, backbone, f"{family}/{task}@100", f"s{strategy:02}:k={strategy}", seed)


def one(draw: random.Random, backbone: int, task: str, strategy: str, seed: int) -> Record:
    """One of them: a score, or in 2 of 1000 cases a failure."""
    score = draw.random()
    others = tuple(MetricValue(f"metric{number}", draw.random()) for number in range(5))
    usage = Usage(1.5, 2.5, 0.5, 5.0, 900.0, 100, 22_713_986, 800, 20_000, 1, 0, 8000.0)
    return make_record(
        strategy,
        task,
        score,
        crossed=Seeds(seed, seed, seed),
        dev_score=draw.random(),
        chance=0.1,
        status="failed" if draw.random() < 0.002 else "ok",
        why="no room",
        control=strategy < "s03",
        metric="accuracy",
        others=others,
        backbone=f"org/backbone-{backbone}",
        weights=f"{backbone:064x}",
        usage=usage,
        train=task.partition("/")[2],
        packages=PACKAGES,
    )


def test_a_board_of_many_records_fits_its_memory(tmp_path: Path) -> None:
    count = int(os.environ.get("THAWBENCH_BOARD_RECORDS", "600"))
    write_packed(tmp_path / "records.jsonl", many_records(count))
    found = json.loads(subprocess.check_output([sys.executable, "-c", READER, str(tmp_path)], text=True))
    seconds = sum(found["stages"].values())
    stages = ", ".join(f"{name} {spent:.1f}" for name, spent in found["stages"].items())
    print(f"\n{count} records: {seconds:.1f} s of processor time ({stages}), {found['gib']:.2f} GiB")
    assert found["records"] == count
    assert set(found["sizes"]) == {".md", ".csv", ".tex", ".json"}
    assert found["gib"] < LIMIT_GIB


@pytest.mark.parametrize("count", [1, 7, 501])
def test_the_records_are_as_many_as_asked_for_and_all_different(count: int) -> None:
    assert len({record.key for record in many_records(count)}) == count
