"""Leaving when asked to: signals are noted, and obeyed where nothing is half-done."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGUSR2", "SIGALRM") if hasattr(signal, name))
"""Ctrl-C, the end of a job, SLURM's warning before its time is up, and the alarm of a cell's own time limit."""


class Interrupted(KeyboardInterrupt):
    """A signal asked to leave; what was done so far has been saved, if there was a place for it.

    A KeyboardInterrupt, so that `except Exception` lets it pass, and whatever ends well on Ctrl-C does so here.
    """

    def __init__(self, signum: int) -> None:
        super().__init__(f"asked to leave by {signal.Signals(signum).name}")
        self.signum = signum


_asked: int | None = None  # of the process, as signals are


@contextmanager
def listening() -> Iterator[None]:
    """Within the block a signal is only noted, for `leave_if_asked`; afterwards the handlers are those of before.

    Only the main thread can listen; elsewhere nothing changes. A signal that the block did not get to obey is handed
    to the handler of before.
    """
    global _asked
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _asked = None
    before = {signum: signal.signal(signum, _note) for signum in SIGNALS}
    try:
        yield
    except BaseException:
        _asked = None
        raise
    finally:
        for signum, handler in before.items():
            signal.signal(signum, signal.SIG_DFL if handler is None else handler)
    asked, _asked = _asked, None
    if asked is not None:
        signal.raise_signal(asked)


def leave_if_asked() -> None:
    """Call it where leaving does no harm.

    Raises:
        Interrupted: a signal came since `listening` began.
    """
    if _asked is not None:
        raise Interrupted(_asked)


def _note(signum: int, frame: FrameType | None) -> None:
    global _asked
    _asked = signum
