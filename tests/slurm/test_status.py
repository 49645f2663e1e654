"""`thawbench status` answers at once, however many records there are."""

import subprocess
import sys
import time
from pathlib import Path

import pytest
from records_by_hand import make_record

from thawbench.errors import UserError
from thawbench.slurm.folder import SweepFolder
from thawbench.slurm.glance import Glances
from thawbench.slurm.queue import Job
from thawbench.slurm.status import Standing, spell, standing, summary_line
from thawbench.suite.record_store import RecordStore
from thawbench.suite.records import Usage


def test_neither_status_nor_the_other_commands_need_torch() -> None:
    script = "import sys, thawbench.slurm.status, thawbench.slurm.commands; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0


def test_cells_without_a_record_are_counted_by_what_the_plan_says(tmp_path: Path) -> None:
    store = RecordStore(tmp_path)
    store.write(make_record("frozen"))
    store.write(make_record("tfidf", status="failed", why="no"))
    folder = SweepFolder(tmp_path)
    folder.create()
    key = make_record("frozen").key
    lines = [(key, "frozen", "sts"), ("a" * 64, "frozen", "sts"), ("b" * 64, "majority", "fewshot")]
    (folder.path / "plan.tsv").write_text(
        "".join(f"{key}\t{strategy}\t{family}/x\t{family}\t1.500\t{strategy} x\n" for key, strategy, family in lines)
    )

    found = standing(folder)

    assert found.cells == {"ok": 1, "failed": 1, "to send": 2}
    assert found.strategies["frozen"] == {"ok": 1, "to send": 1}
    assert found.families["fewshot"] == {"to send": 1}
    assert found.seconds_left == 3.0
    assert len(found.failed) == 1


def test_the_summary_says_what_runs_where_and_how_long_it_may_take() -> None:
    found = Standing(began=time.time() - 300, seconds_left=1200.0)
    found.cells.update({"ok": 3, "failed": 1, "running": 2, "to send": 4})
    found.jobs = [
        Job("1_0", "a", 0, "RUNNING", "node1"),
        Job("1_1", "a", 1, "RUNNING", "node2"),
        Job("1_2", "a", 2, "PENDING"),
    ]

    assert summary_line(found) == (
        "10 cells: 3 done, 1 failed, 6 to go; 2 tasks run on 2 nodes, 1 wait; 5 min since the first was sent; "
        "about 10 min left"
    )


@pytest.mark.parametrize(("seconds", "told"), [(-1, "0 s"), (119, "119 s"), (600, "10 min"), (9000, "2.5 h")])
def test_times_are_spelled_for_people(seconds: float, told: str) -> None:
    assert spell(seconds) == told


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    from rich.console import Console

    from thawbench.slurm.status import show

    with pytest.raises(UserError, match="there is no folder"):
        show(tmp_path / "none", Console())


def test_a_file_in_the_place_of_a_folder_is_told(tmp_path: Path) -> None:
    from rich.console import Console

    from thawbench.slurm.commands import show_logs

    (tmp_path / "my_idea.py").touch()
    with pytest.raises(UserError, match=r"my_idea\.py is no folder; give that of the sweep with --results"):
        show_logs(tmp_path / "my_idea.py", "x", Console())
    with pytest.raises(UserError, match="'x' does not name one cell of the last sweep"):
        show_logs(tmp_path / "none", "x", Console())


def test_many_records_are_looked_at_in_no_time(tmp_path: Path) -> None:
    store = RecordStore(tmp_path)
    record = make_record(usage=Usage(wall_s=0.5))
    store.write(record)
    content = store.path(record.key).read_bytes()
    for number in range(2000):
        path = store.path(f"{number % 256:02x}{number:062x}")
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)

    begin = time.process_time()
    found = list(Glances(tmp_path).all())
    taken = time.process_time() - begin

    assert len(found) == 2001
    assert taken < 0.5  # 10^5 of them in less than 5 s would leave 0.1; the rest is for slow machines
    assert sum(glance.wall_s for glance in found) == 2001 * 0.5
