"""What can go wrong, in the words of whoever can mend it."""

import difflib
from collections.abc import Iterable


class ThawbenchError(Exception):
    """The root of all errors that Thawbench raises on purpose. Its text is one line, meant to be read."""


class UserError(ThawbenchError):
    """A mistake in what was asked: a name, a file, a folder. The command line prints its text and exits with 2."""


class DataUnavailableError(UserError):
    """Rows or weights that could not be fetched. The text says which, from where, and the way out."""


class NotApplicableError(ThawbenchError):
    """A strategy met a task or a train set that it cannot use. Recorded as `not_applicable`, never as a failure."""


class DegenerateError(ThawbenchError):
    """Vectors or scores that no metric may be taken of: constant, or not finite. Recorded as `degenerate`."""


def unknown(kind: str, name: str, known: Iterable[str]) -> UserError:
    """The one message for a name that nobody registered, with the nearest names that exist.

    Args:
        kind: what the name should have been, such as `strategy`.
        name: what was given.
        known: every name that would have been right.
    """
    names = sorted(set(known))
    if close := nearest(name, names):
        return UserError(f"unknown {kind} {name!r}; did you mean {' or '.join(close)}?")
    listed = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
    return UserError(f"unknown {kind} {name!r}; known: {listed or 'none'}")


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """The names that may have been meant, the likeliest first; three at most, whatever their case."""
    lowered = {candidate.lower(): candidate for candidate in known}
    return [lowered[match] for match in difflib.get_close_matches(name.lower(), lowered, n=3, cutoff=0.5)]
