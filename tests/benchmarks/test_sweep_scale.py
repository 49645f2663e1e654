"""What a sweep of many cells costs its driver: processor seconds, memory, files. No time is ever asserted; memory is.

    THAWBENCH_SWEEP_CELLS=1000000 pytest -s tests/benchmarks/test_sweep_scale.py

plans so many cells of the embedded world, sends them to a cluster that does nothing, puts records there for
THAWBENCH_SWEEP_RECORDS of them, 100,000 at most, and asks how they stand. docs/scaling.md has what was measured.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

LIMIT_GIB = 2
STRATEGIES = SEEDS = 100

DRIVER = """
import io, json, os, resource, sys, time
from pathlib import Path

stages, before = {}, None

def stage(name):
    global before
    now = time.process_time(), time.monotonic()
    if before is not None and name:
        stages[name] = [now[0] - before[0], now[1] - before[1]]
    before = now

def gib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 2**30

cells, records, results = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
backbone, strategies, seeds = sys.argv[4], int(sys.argv[5]), int(sys.argv[6])

from thawbench.slurm import sweep
from thawbench.slurm.folder import SweepFolder
from thawbench.slurm.glance import Glances
from thawbench.slurm.options import SweepOptions
from thawbench.slurm.status import standing
from thawbench.suite.options import OPTIONS, settings
from thawbench.suite.record_store import RecordStore
from thawbench.suite.records import MetricValue, Record, Usage
from thawbench.suite.runner import environment

class Nowhere:
    "A cluster that takes everything and runs nothing."
    most_tasks, slots = 1001, 1000
    class queue:
        states = staticmethod(lambda ids: {})
    def start(self, sent, paths, variables):
        return "1"
    def jobs(self):
        return {}

sweep.backend = lambda options, folder: Nowhere()
asked = settings({
    **{option.key: option.default for option in OPTIONS},
    "strategy": [f"frozen_ebm:lr={number / 10000}" for number in range(1, strategies + 1)],
    "task": [f"fewshot/world/meals@{20 + 2 * number}" for number in range(-(-cells // (strategies * seeds)))],
    "seeds": str(seeds), "backbone": backbone, "results": str(results), "threads": "1",
})
sizes = {}
plan_of = sweep.plan_of

def planned(given):
    stage("")
    plan = plan_of(given)
    stage("plan")
    sizes["plan_gib"] = gib()
    return plan

sweep.plan_of = planned
driver = sweep.Driver(asked, SweepOptions(cluster="local"))
driver.open()
stage("costs, and the plan's file")
tasks = driver.send()
stage("units, tasks, ledger")
folder = SweepFolder(results)
sizes |= {"cells": len(driver.cells), "tasks": tasks, "arrays": len(driver.ledger.sent), "driver_gib": gib()}
sizes["files"] = sum(len(names) for _, _, names in os.walk(folder.path))
sizes["bytes"] = sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(folder.path) for name in names)

store = RecordStore(results)
where = environment(driver.cells[0])
metrics = tuple(MetricValue(f"metric{number}", 0.5, main=number == 0) for number in range(5))
usage = Usage(1.5, 2.5, 0.5, 5.0, 900.0, 100, 22_713_986, 800, 20_000, 1, 0, 8000.0)
written, copied = driver.cells[:min(records, 2000)], driver.cells[2000:records]
stage("")
for cell in written:
    store.write(Record(
        key=cell.key, status="ok", strategy=cell.strategy, task=cell.task_name, family=cell.task.family,
        backbone=cell.adaptation.backbone.name, control=cell.control, cell=cell.identity(), seeds=cell.seeds,
        draws=tuple(sorted(cell.streams)), environment=where, started="2026-11-28T00:00:00+00:00", usage=usage,
        metrics=metrics,
    ))
stage(f"write {len(written)} records")
pattern = store.path(written[0].key).read_text()
for cell in copied:  # as long as a real one, without what it takes to write that
    path = store.path(cell.key)
    path.parent.mkdir(exist_ok=True)
    path.write_text(pattern.replace(written[0].key, cell.key).replace(written[0].task_name, cell.task_name))
stage("")
sizes["record_bytes"] = len(pattern)
glances = sum(1 for _ in Glances(results).all())
stage("read records at a glance")
found = standing(folder)
stage("status")
sizes |= {"glances": glances, "done": found.cells["ok"], "to_send": found.cells["to send"]}
if not copied:  # else their keys are wrong
    path, sizes["packed"] = store.compact()
    stage("compact")
    sizes["packed_bytes"] = path.stat().st_size
    assert standing(folder).cells == found.cells
    stage("status of packed records")
print(json.dumps({"stages": stages, "sizes": sizes, "gib": gib()}))
"""


def test_a_sweep_of_many_cells_fits_its_memory(tmp_path: Path, tiny_folder: Path) -> None:
    cells = int(os.environ.get("THAWBENCH_SWEEP_CELLS", "200"))
    records = min(cells, int(os.environ.get("THAWBENCH_SWEEP_RECORDS", "100000")))
    strategies, seeds = min(STRATEGIES, max(1, cells // 100)), min(SEEDS, cells)
    told = [str(cells), str(records), str(tmp_path), str(tiny_folder), str(strategies), str(seeds)]
    try:
        found = json.loads(subprocess.check_output([sys.executable, "-c", DRIVER, *told], text=True))
    finally:
        shutil.rmtree(tmp_path)  # up to 100,000 files, which some later run of pytest would wait minutes to remove
    sizes = found["sizes"]
    print(f"\n{sizes}\npeak {found['gib']:.2f} GiB")
    for name, (processor, wall) in found["stages"].items():
        print(f"{name}: {processor:.1f} s of processor time, {wall:.1f} s in all")
    assert sizes["cells"] == cells
    assert sizes["glances"] == sizes["done"] == records
    assert sizes["to_send"] == cells - records
    assert sizes["tasks"] >= 1
    assert sizes["plan_gib"] < LIMIT_GIB
