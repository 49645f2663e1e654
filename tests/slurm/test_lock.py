"""One driver at a time, on a file system that cannot lock."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from thawbench.errors import UserError
from thawbench.slurm import lock as module
from thawbench.slurm.lock import Lock


def path_in(folder: Path) -> Path:
    (folder / "sweep").mkdir()
    return folder / "sweep" / "lock"


def test_a_second_driver_is_told_who_the_first_is(tmp_path: Path) -> None:
    path = path_in(tmp_path)

    with Lock(path).held():
        message = f"another driver works on {tmp_path}: process {os.getpid()} on {socket.gethostname()}, since "
        with pytest.raises(UserError, match=message), Lock(path).held():
            pass
        assert path.exists()
    assert not path.exists()

    with Lock(path).held():
        pass


def test_the_lock_of_a_process_that_was_killed_is_taken(tmp_path: Path) -> None:
    path = path_in(tmp_path)
    script = (
        "import sys, os, signal; from pathlib import Path; from thawbench.slurm.lock import Lock\n"
        "with Lock(Path(sys.argv[1])).held(): os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", script, str(path)]).returncode == -9
    assert path.exists()

    with Lock(path).held():
        assert json.loads(path.read_text())["pid"] == os.getpid()
    assert os.listdir(path.parent) == []


def test_a_process_that_got_the_number_of_a_dead_one_is_not_taken_for_it(tmp_path: Path) -> None:
    path = path_in(tmp_path)
    path.write_text(json.dumps({"host": socket.gethostname(), "pid": os.getpid(), "born": "1", "token": "x"}))

    with Lock(path).held():
        assert path.exists()


def test_a_driver_on_another_machine_counts_as_alive_until_it_is_silent_for_long(tmp_path: Path) -> None:
    path = path_in(tmp_path)
    path.write_text(json.dumps({"host": "elsewhere", "pid": 1, "born": "1", "since": "noon", "token": "x"}))
    with pytest.raises(UserError, match="process 1 on elsewhere, since noon"), Lock(path).held():
        pass

    past = time.time() - module.SILENT_S - 1
    os.utime(path, (past, past))
    with Lock(path).held() as held:
        os.utime(path, (past, past))
        held.touch()
        assert time.time() - path.stat().st_mtime < 60


def test_a_lock_that_is_being_written_is_respected(tmp_path: Path) -> None:
    path = path_in(tmp_path)
    path.touch()

    with pytest.raises(UserError, match="another driver works on"), Lock(path).held():
        pass


def test_who_lost_the_lock_does_not_remove_that_of_its_heir(tmp_path: Path) -> None:
    path = path_in(tmp_path)
    with Lock(path).held():
        path.write_text(json.dumps({"token": "another"}))
    assert path.exists()


def test_a_holder_that_is_long_at_one_thing_counts_as_alive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BEAT_S", 0.01)
    path = path_in(tmp_path)
    past = time.time() - module.SILENT_S - 1
    threads = threading.active_count()

    with Lock(path).held():
        os.utime(path, (past, past))
        until = time.monotonic() + 10
        while path.stat().st_mtime == past and time.monotonic() < until:
            time.sleep(0.01)
        assert time.time() - path.stat().st_mtime < 60

    assert not path.exists()
    assert threading.active_count() == threads
