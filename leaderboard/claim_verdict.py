"""A verdict on a claim: supported, refuted or undecided."""

from dataclasses import dataclass
from typing import Literal

from thawbench.leaderboard.claim_cells import Cells, Shelf, cells_of
from thawbench.leaderboard.claim_effect import Effect
from thawbench.leaderboard.claim_measure import Line, measure
from thawbench.leaderboard.claim_reading import reading_of
from thawbench.leaderboard.claim_statement import Claim, Part
from thawbench.leaderboard.comparison import LEVEL

Outcome = Literal["supported", "refuted", "undecided"]


@dataclass(frozen=True)
class PartVerdict:
    """One comparison.

    Attributes:
        effect: turned so that more of it speaks for the claim; None of too few cells.
        needed: of its units, how many would decide it; None where it is decided, or no number would.
        why: what an undecided one lacks.
        lines: the tasks that the effect is a mean of, or the strategies of a correlation.
        used: keys of the records behind it.
    """

    part: Part
    outcome: Outcome
    effect: Effect | None
    needed: int | None
    why: str
    lines: tuple[Line, ...]
    used: tuple[str, ...]
    cells: Cells

    @property
    def missing(self) -> int:
        """Cells that nobody ran, and those set aside."""
        return sum(len(gap.seeds) for gap in self.cells.gaps) + len(self.cells.aside)


@dataclass(frozen=True)
class Verdict:
    """A claim, and what the records say of it."""

    claim: Claim
    outcome: Outcome
    parts: tuple[PartVerdict, ...]


def judge(claim: Claim, shelf: Shelf) -> Verdict:
    """What records say of a claim.

    A part is supported where the interval of 95 % lies beyond the smallest effect that matters, and refuted where it
    lies short of it: each is wrong in 2.5 % of cases at the very edge, and more rarely elsewhere. A claim is supported
    if every part is, so that it errs no more often; and refuted if one part is, for which the parts share the 2.5 %.
    """
    parts = tuple(_judge(part, shelf, len(claim.parts)) for part in claim.parts)
    outcomes = {part.outcome for part in parts}
    whole: Outcome = "refuted" if "refuted" in outcomes else "undecided" if "undecided" in outcomes else "supported"
    return Verdict(claim, whole, parts)


def _judge(part: Part, shelf: Shelf, parts: int) -> PartVerdict:
    cells = cells_of(part, shelf, (reading_of(part), reading_of(part, second=True)))
    measured = measure(part, cells)
    outcome, why = _outcome(part, measured.effect, parts), measured.why
    needed = None
    if outcome == "undecided" and measured.effect is not None:
        needed = measured.effect.needed(part.smallest / 100)
        why = f"these {measured.effect.unit} do not tell the effect from {part.smallest:g}"
    return PartVerdict(part, outcome, measured.effect, needed, why, measured.lines, measured.used, cells)


def _outcome(part: Part, effect: Effect | None, parts: int) -> Outcome:
    interval = None if effect is None else effect.interval()
    wider = None if effect is None else effect.interval(LEVEL / parts)
    if interval is not None and interval.low > part.smallest / 100:
        return "supported"
    if wider is not None and wider.high < part.smallest / 100:
        return "refuted"
    return "undecided"
