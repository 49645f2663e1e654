"""What `thawbench sweep`, `logs`, `retry` and `cancel` do."""

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.live import Live

from thawbench.errors import UserError
from thawbench.slurm.folder import SweepFolder
from thawbench.slurm.options import SweepOptions, sweep_options
from thawbench.slurm.queue import LocalQueue, QueueError, SlurmQueue
from thawbench.slurm.status import failure_lines, standing, summary_line, view
from thawbench.slurm.tasklog import section
from thawbench.suite.options import Settings

if TYPE_CHECKING:
    from thawbench.slurm.sweep import Driver

_QUICK_S, _SLOW_S = 0.5, 10.0
"""Between two looks at the queue: at first, and when nothing has happened for a while."""

_SILENT_S = 60.0
"""Without a terminal, between two lines that only say how things stand."""

_GRACE_S = 3.0


def run_sweep(asked: Settings, given: dict[str, Any], *, wait: bool, console: Console) -> bool:
    """Send what is missing of the plan; whether nothing of it is known to have failed."""
    return _drive(asked, sweep_options(given), wait=wait, again=False, console=console)


def retry(results: Path, *, wait: bool, console: Console) -> bool:
    """Send what failed of the last sweep again, with its options; whether nothing of it is known to have failed."""
    asked, options = SweepFolder(results).read_request()
    return _drive(asked, options, wait=wait, again=True, console=console)


def _drive(asked: Settings, options: SweepOptions, *, wait: bool, again: bool, console: Console) -> bool:
    from thawbench.slurm.sweep import Driver

    driver = Driver(asked, options, again=again)
    driver.folder.create()
    with driver.folder.lock.held():
        try:
            with console.status("planning …"):
                driver.open()
            tasks = driver.send()
        except QueueError as error:
            raise UserError(f"nothing more can be sent now: {error}; the same command goes on from here") from None
        if tasks:
            _say(console, f"{tasks} tasks sent; {sum(map(len, driver.flying.values()))} cells are under way")
        if wait or options.cluster != "slurm":  # nobody else would start what waits
            driver.grace_s = _GRACE_S if options.cluster == "slurm" else 0.0
            _follow(driver, console)
            driver.tidy()
    found = standing(driver.folder)
    for line in [summary_line(found), *failure_lines(found, driver.folder.results)]:
        _say(console, line)
    for log in sorted(set(driver.stuck.values())):
        _say(console, f"{len(driver.stuck)} cells wait, as their tasks end before they can begin one: see {log}")
    if driver.cancelled:
        _say(console, f"{len(driver.cancelled)} cells were cancelled; the same command sends them again")
    if driver.flying:
        _say(console, f"how they are: thawbench status --results {asked.results}")
    return not (driver.failed() or driver.stuck or driver.cancelled)


def _follow(driver: "Driver", console: Console) -> None:
    """Judge and send until nothing is left."""
    pause, next_look, line = _QUICK_S, 0.0, ""
    with contextlib.ExitStack() as stack:
        live = None
        if console.is_terminal:
            live = stack.enter_context(Live(console=console, transient=True, auto_refresh=False))
        while not driver.over:
            time.sleep(pause)
            trouble = ""
            try:
                changed = driver.settle()
                changed = driver.send() > 0 or changed
            except QueueError as error:
                changed, trouble = False, str(error)
            # a free slot of this machine should not wait
            pause = _QUICK_S if changed or driver.options.cluster == "local" else min(pause * 1.5, _SLOW_S)
            begin = time.monotonic()
            if begin < next_look and not trouble:
                continue
            found = standing(driver.folder)
            if live is not None:
                live.update(view(found, driver.folder.results), refresh=True)
                next_look = time.monotonic() + 20 * (time.monotonic() - begin)  # mostly the queue's, not our own
            else:
                if (told := trouble or summary_line(found)) != line:
                    _say(console, told)
                line, next_look = told, begin + _SILENT_S


def cancel(results: Path, console: Console) -> None:
    """Cancel what the sweeps of a folder have under way, and nothing else; what is recorded stays.

    Raises:
        UserError: nothing was ever sent from there, or the scheduler does not answer.
    """
    folder = SweepFolder(results)
    if not folder.exists:
        raise UserError(f"no sweep was ever sent from {results}")
    folder.cancelled.touch()  # a driver that waits sends nothing more
    ledger = folder.ledger()
    names = {name for name, _ in ledger.open_tasks()}
    queues: tuple[tuple[str, SlurmQueue | LocalQueue], ...] = (
        ("slurm", SlurmQueue()),
        ("local", LocalQueue(folder.path)),
    )
    try:
        for cluster, queue in queues:
            wanted = {name for name in names if ledger.sent[name].cluster == cluster}
            if wanted:
                queue.cancel(sorted(wanted))
                begin = time.monotonic()
                while time.monotonic() - begin < 60 and any(j.name in wanted and not j.over for j in queue.jobs()):
                    time.sleep(0.5)  # until then its tasks may still write
    except QueueError as error:
        raise UserError(f"not cancelled: {error}") from None
    _say(console, f"cancelled; {summary_line(standing(folder))}")


def show_logs(results: Path, cell: str, console: Console) -> None:
    """Print what a cell's runs left in the logs of their tasks, oldest first.

    Args:
        cell: the first digits of its key, or a part of its label, such as `frozen sts/STS12`.

    Raises:
        UserError: no cell is called so, or several are, or it never ran in a sweep.
    """
    folder = SweepFolder(results)
    found = {planned.key: planned.label for planned in folder.read_plan() if planned.key.startswith(cell)}
    found = found or {planned.key: planned.label for planned in folder.read_plan() if cell in planned.label}
    if len(found) != 1:
        such = f"; {len(found)} have it, such as {next(iter(found.values()))}" if found else ""
        raise UserError(f"{cell!r} does not name one cell of the last sweep{such}")
    ((key, label),) = found.items()
    sections = [(path, list(section(path, key))) for path in _logs(folder, key)]
    if not any(lines for _, lines in sections):
        raise UserError(f"{label} has not begun in any task yet")
    _say(console, f"{key} {label}")
    for path, lines in sections:
        for line in [f"-- {path}", *lines] if lines else ():
            _say(console, line)


def _logs(folder: SweepFolder, key: str) -> Iterator[Path]:
    for name, sent in folder.ledger().sent.items():
        for index in range(sent.tasks):
            if key in folder.task_path(name, index).read_text(encoding="utf-8"):
                yield from sorted(folder.logs(name).glob(f"{index}.*.log"), key=lambda path: path.stat().st_mtime)


def _say(console: Console, line: str) -> None:
    console.print(line, highlight=False, markup=False, soft_wrap=True)
