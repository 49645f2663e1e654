"""A limit to what a cell may take, rung by an alarm."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from thawbench.strategies.interruption import Interrupted


class OverTime(Exception):
    """The block took longer than it may. A training in it has saved itself, and goes on from there when asked again."""


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Let the block take so many seconds; without a number, or outside of the main thread, as many as it likes.

    Raises:
        OverTime: it took longer.
    """
    if seconds is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGALRM, _ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    except Interrupted as left:
        if left.signum != signal.SIGALRM:
            raise
        raise OverTime(
            f"took more than {seconds:g} s, which --cell-timeout allows; what was trained is kept, and the same "
            "command goes on with it"
        ) from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _ring(signum: int, frame: FrameType | None) -> None:
    """Outside of training, which listens for itself, there is nothing to save."""
    raise Interrupted(signum)
