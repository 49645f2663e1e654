"""How much memory a task may fill with an encoder's states: what would take more is refused before it is taken."""

from thawbench.errors import NotApplicableError

MOST_BYTES = 5 * 2**29
"""2.5 GiB, for states and for what is calculated of them as far as that grows with them: no task needs 4 GiB beside a
model."""


def check_room(needed: int, where: str, way_out: str) -> None:
    """Refuse what does not fit.

    Args:
        needed: bytes of states that would be held at once.
        where: the task's name.
        way_out: what to do instead, as in `take fewer sentences`.

    Raises:
        NotApplicableError: it is more than `MOST_BYTES`.
    """
    if needed > MOST_BYTES:
        raise NotApplicableError(
            f"{where} would hold {needed / 2**30:.1f} GiB of states of this encoder, and may hold "
            f"{MOST_BYTES / 2**30:g}; {way_out}"
        )
