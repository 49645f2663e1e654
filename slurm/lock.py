"""One driver at a time, without flock, which shared file systems do not all have."""

import contextlib
import datetime
import json
import os
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from thawbench.errors import UserError

SILENT_S = 600.0
"""A driver on another machine that has not touched its lock for so long counts as dead."""

_BEAT_S = 30.0


class Lock:
    """A file that one process has made, with who that is in it; while it is held, a thread touches it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._token = secrets.token_hex(8)

    def touch(self) -> None:
        """Show that the holder lives."""
        with contextlib.suppress(OSError):
            os.utime(self.path)

    @contextlib.contextmanager
    def held(self) -> Iterator["Lock"]:
        """Hold it within the block.

        Raises:
            UserError: another driver does.
        """
        self._take()
        released = threading.Event()
        # a thread, as one step of the holder, such as reading data for the first time, may take longer than SILENT_S
        beats = threading.Thread(target=self._beat, args=(released,), daemon=True)
        beats.start()
        try:
            yield self
        finally:
            released.set()
            beats.join()
            if _read(self.path).get("token") == self._token:
                self.path.unlink(missing_ok=True)

    def _beat(self, released: threading.Event) -> None:
        while not released.wait(_BEAT_S):
            self.touch()

    def _take(self) -> None:
        taken = self._create()
        if not taken:
            holder = _read(self.path)
            if self._dead(holder):
                aside = self.path.with_name(f".{self.path.name}.{self._token}")
                with contextlib.suppress(FileNotFoundError):
                    self.path.rename(aside)
                    aside.unlink()
                # of two who find it dead, one may move the other's new one away: who is left, looks again
                if self._create():
                    time.sleep(0.1)
                    taken = _read(self.path).get("token") == self._token
        if not taken:
            holder = _read(self.path)
            raise UserError(
                f"another driver works on {self.path.parent.parent}: process {holder.get('pid')} on "
                f"{holder.get('host')}, since {holder.get('since')}; wait for it, or remove {self.path} if it is gone"
            )

    def _create(self) -> bool:
        """Make the file; False if there is one."""
        pid = os.getpid()
        mine = {
            "host": socket.gethostname(),
            "pid": pid,
            "born": _born(pid),
            "since": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "token": self._token,
        }
        try:
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        except FileExistsError:
            return False
        with os.fdopen(descriptor, "w") as file:
            json.dump(mine, file)
        return True

    def _dead(self, holder: dict[str, object]) -> bool:
        pid = holder.get("pid")
        if holder.get("host") == socket.gethostname() and isinstance(pid, int):
            return _born(pid) != holder.get("born")
        try:
            return time.time() - self.path.stat().st_mtime > SILENT_S
        except FileNotFoundError:
            return True


def _read(path: Path) -> dict[str, object]:
    try:
        read = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return read if isinstance(read, dict) else {}


def _born(pid: int) -> str:
    """When a process began, as the kernel counts it: its number may be given again. Empty if there is no process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
        return stat.rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        pass
    if Path("/proc/self").exists():
        return ""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except PermissionError:
        pass
    return "alive"
