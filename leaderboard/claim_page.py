"""Verdicts as a page of Markdown and as a table that fits a screen. The same records give the same bytes."""

import math
from collections import Counter
from collections.abc import Sequence

from tabulate import tabulate

from thawbench import __version__
from thawbench.leaderboard.claim_commands import commands_of
from thawbench.leaderboard.claim_effect import FAILING_FAVOURED, MOST
from thawbench.leaderboard.claim_reading import SECONDS
from thawbench.leaderboard.claim_statement import Part
from thawbench.leaderboard.claim_verdict import Outcome, PartVerdict, Verdict
from thawbench.leaderboard.grid import MISSING, Grid, between, grid, score
from thawbench.leaderboard.markdown import escape, render_grid

_ORDER: tuple[Outcome, ...] = ("supported", "refuted", "undecided")
_HEADS = ("Claim", "Verdict", "Effect", "95 %", "Beyond", "Cells", "Missing", "To decide")


def render_claims(verdicts: Sequence[Verdict], records: int) -> str:
    """The whole page."""
    told = (
        f"Thawbench {__version__}, {records} {'record' if records == 1 else 'records'}. {count_line(verdicts)} Each "
        "claim is a file in leaderboard/claims/."
    )
    how = (
        "Effects are times 100, and turned so that more of them speaks for the claim. **Supported**: the 95 % interval "
        "lies beyond the smallest effect that matters. **Refuted**: it lies short of it. Each is wrong in 2.5 % of "
        "cases where the truth is at that very edge, and more rarely where it is not, if what is averaged is normal: "
        "of 40 claims that are all false, one would be supported. It is not where runs fail: a strategy that fails in "
        f"one run of five and is better in the rest is found better in {100 * FAILING_FAVOURED:.0f} % of cases at 5 "
        "seeds, though its mean is the same. Two that are alike, failing or not, stay below 5 %. A claim of several "
        "parts holds if all of them do."
    )
    units = (
        "Two strategies are paired by task and sample seed; at a seed the tasks of one train set are averaged, and all "
        "tasks weigh the same. An interval speaks of more seeds on these tasks, and not of other tasks; where no seed "
        "moves anything it speaks of other data sets, and that of a correlation of other strategies. A strategy with a "
        "failed or degenerate run on a task is set aside there, and no verdict is given on fewer than two data sets or "
        "fewer seeds than the claim asks for. **To decide**: how many units would do with a probability of 80 %, if "
        "effect and spread are what they seem."
    )
    known = (
        "The claims that come with Thawbench were chosen, and their smallest effects set, when the first records "
        "(ir, sts, fewshot) had been seen: verdicts on those describe what was seen, and new seeds are their test. "
        "Some got more seeds because they were near a verdict, which makes a wrong one likelier than said above. "
        "Nothing is corrected for how many claims there are."
    )
    parts = [told, how, units, known, render_grid(_summary(verdicts))]
    return "\n\n".join(["# Claims", *parts, *(part for verdict in verdicts for part in _section(verdict))]) + "\n"


def screen_table(verdicts: Sequence[Verdict]) -> str:
    """A line for each part of a claim."""
    lines = _summary(verdicts)
    rows = [[cell.text for cell in row] for row in lines.rows]
    return str(tabulate(rows, lines.heads, tablefmt="plain", disable_numparse=True)) + f"\n{count_line(verdicts)}"


def count_line(verdicts: Sequence[Verdict]) -> str:
    """How many there are of each outcome."""
    counts = Counter(verdict.outcome for verdict in verdicts)
    listed = ", ".join(f"{counts[outcome]} {outcome}" for outcome in _ORDER)
    return f"{len(verdicts)} {'claim' if len(verdicts) == 1 else 'claims'}: {listed}."


def in_short(verdict: Verdict) -> str:
    """The verdict in a line: of each part that is not supported, the effect or what it lacks."""
    told = [_told(part) for part in verdict.parts if part.outcome != "supported"]
    return f"{verdict.claim.id} is {verdict.outcome}. {' '.join(told)}"


def reads(part: Part) -> str:
    """What a part compares, in words."""
    what = part.metric or "the main score"
    sides = f"{part.first} against {part.second}" if part.second else part.first
    if part.kind == "spread":
        what = f"how far runs are from the median of {what}"
    elif part.kind == "best_of":
        what = f"the test score of that run of {part.k} which is best on dev"
        sides = f"{part.first} against a single run of {part.second or 'its own'}"
    elif part.kind == "trend":
        what = f"the rise of {part.curve} from end to end" if part.curve else f"the rise of {what} over log n"
    elif part.kind == "correlation":
        other = f" and {part.second_metric}" if part.second_metric else ""
        what, sides = f"the rank correlation of {what}{other}", ", ".join(part.strategies)
    beyond = f"{part.direction} by more than {part.smallest:g}" if part.smallest >= 0 else _tolerant(part)
    return f"{what}, of {sides}: {beyond}; {part.seeds} seeds or more"


def _tolerant(part: Part) -> str:
    other = {"higher": "lower", "lower": "higher"}[part.direction]
    return f"{other} by less than {-part.smallest:g}, or {part.direction}"


def _summary(verdicts: Sequence[Verdict]) -> Grid:
    return grid(_HEADS, [row for verdict in verdicts for row in _rows(verdict)])


def _rows(verdict: Verdict) -> list[list[str]]:
    if len(verdict.parts) == 1:
        return [[verdict.claim.id, verdict.outcome, *_numbers(verdict.parts[0])]]
    head = [verdict.claim.id, verdict.outcome, *[""] * (len(_HEADS) - 2)]
    return [head, *([f"… part {at}", part.outcome, *_numbers(part)] for at, part in enumerate(verdict.parts, 1))]


def _numbers(part: PartVerdict) -> list[str]:
    return [
        MISSING if part.effect is None else score(part.effect.value),
        between(part.effect.interval() if part.effect else None),
        f"{part.part.smallest:g}",
        str(len(part.used)),
        str(part.missing),
        _to_decide(part),
    ]


def _to_decide(part: PartVerdict) -> str:
    if part.outcome != "undecided":
        return ""
    if part.effect is None:
        return "missing cells"
    if part.needed is None:
        return f"over {MOST} {part.effect.unit}" if part.effect.error else "all alike"
    return f"{part.needed} {part.effect.unit}"


def _section(verdict: Verdict) -> list[str]:
    claim = verdict.claim
    found = [
        f"## {escape(claim.id)}: {verdict.outcome}",
        f"{escape(claim.sentence)}",
        f"Source: {escape(claim.source)}",
    ]
    found += [f"Note: {escape(claim.note)}"] if claim.note else []
    for at, part in enumerate(verdict.parts, 1):
        head = f"Part {at}, {part.outcome}. " if len(verdict.parts) > 1 else ""
        found.append(f"{head}Read: {escape(reads(part.part))}.")
        found.append(escape(_told(part)))
        if part.lines:
            found.append(render_grid(_lines(part)))
        if listed := _absent(part):
            found.append(listed)
        if commands := commands_of(part):
            found.append("\n".join(f"    {command}" for command in commands))
    return found


def _told(part: PartVerdict) -> str:
    records = f"{len(part.used)} {'cell' if len(part.used) == 1 else 'cells'}"
    if part.effect is None:
        return f"No verdict: {part.why}."
    interval = part.effect.interval()
    held = f"95 % {between(interval)}" if interval else "all the same, and too few to say more"
    lead = f"Effect {score(part.effect.value)} ({held}), from {records}, {part.effect.count} {part.effect.unit}."
    if part.outcome != "undecided":
        return lead
    if part.needed is None and not part.effect.error:
        return f"{lead} Undecided: no number of {part.effect.unit} would decide it, as all are alike."
    needed = f"more than {MOST}" if part.needed is None else f"about {part.needed}"
    return f"{lead} Undecided: it would take {needed} {part.effect.unit} to decide it with a probability of 80 %."


def _lines(part: PartVerdict) -> Grid:
    if part.part.kind == "correlation":
        return grid(
            ["Strategy", "First column", "Second column"],
            [[line.name, score(line.first), score(line.second)] for line in part.lines],
        )
    if all(line.second is None for line in part.lines):
        return grid(
            ["Task", part.part.first, "Seeds"],
            [[line.name, score(line.first), _seeds(line.seeds)] for line in part.lines],
        )
    side = _seconds if part.part.metric in SECONDS else score
    return grid(
        ["Task", part.part.first, part.part.second or "Single run", "Difference", "Seeds"],
        [
            [line.name, side(line.first), side(line.second), score(line.effect), _seeds(line.seeds)]
            for line in part.lines
        ],
    )


def _seconds(logarithm: float | None) -> str:
    return MISSING if logarithm is None else f"{math.exp(logarithm):.1f} s"


def _seeds(count: int) -> str:
    return str(count) if count else MISSING


def _absent(part: PartVerdict) -> str:
    lines = [f"- `{gap.strategy}` on `{gap.task}`: no run of {_listed(gap.seeds)}" for gap in part.cells.gaps]
    lines += [f"- `{each.strategy}` on `{each.task}`: set aside, {each.outcome}" for each in part.cells.aside]
    return "\n".join(lines)


def _listed(seeds: Sequence[int]) -> str:
    return f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"
