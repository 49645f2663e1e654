"""What an event sentence of the embedded world means, what follows from it, and the ways to say it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from thawbench.contracts import Relation
from thawbench.tasks.world.draws import Draws, article, sentence
from thawbench.tasks.world.lexicon import Lexicon

ANYONE = "person"
"""The agent or object of a sentence that says only that it was somebody."""

# What each role weighs in a sentence's meaning.
_WEIGHTS = {"agent": 1.0, "verb": 1.5, "object": 1.5, "adjective": 0.5, "place": 0.5, "time": 0.5}


@dataclass(frozen=True)
class Event:
    """Who did what to whom or what; concepts of a `Lexicon`. Modifiers that are not stated are None."""

    agent: str
    verb: str
    object: str
    adjective: str | None = None
    place: str | None = None
    time: str | None = None


@dataclass(frozen=True)
class Statement:
    """An event, or that there was none such."""

    event: Event
    negated: bool = False


Style = Callable[[str], int]
"""Which of a concept's two forms to use (0 or 1), by concept."""


def set_role(event: Event, role: str, concept: str | None) -> Event:
    """The event with one role filled otherwise; None leaves a modifier unstated."""
    changes: dict[str, Any] = {role: concept}
    return replace(event, **changes)


def draw_event(draws: Draws, lexicon: Lexicon, *, modifiers: int = 50, vague: int = 0) -> Event:
    """An event; each modifier is there, and each noun is left general, in so many per cent of cases."""
    treats = draws.chance(25)
    agent, person = draws.two(list(lexicon.people))
    verb = draws.pick(list(lexicon.treating if treats else lexicon.handling))
    thing = person if treats else draws.pick(list(lexicon.things))
    if draws.chance(vague):
        agent = ANYONE
    if draws.chance(vague):
        thing = kind_of(lexicon, thing)
    adjective = draws.pick(list(lexicon.adjectives)) if not treats and draws.chance(modifiers) else None
    place = draws.pick(list(lexicon.places)) if draws.chance(modifiers) else None
    time = draws.pick(list(lexicon.times)) if draws.chance(modifiers) else None
    return Event(agent, verb, thing, adjective, place, time)


def kind_of(lexicon: Lexicon, concept: str) -> str:
    """What a person or thing is in general."""
    return ANYONE if concept in lexicon.people else lexicon.kind_of.get(concept, concept)


def subsumes(lexicon: Lexicon, general: Event, special: Event) -> bool:
    """Whether every event of the special sort is one of the general sort."""
    nouns = ((general.agent, special.agent), (general.object, special.object))
    modifiers = (
        (general.adjective, special.adjective),
        (general.place, special.place),
        (general.time, special.time),
    )
    return (
        general.verb == special.verb
        and all(wide in (narrow, kind_of(lexicon, narrow)) for wide, narrow in nouns)
        and all(wide is None or wide == narrow for wide, narrow in modifiers)
    )


def opposites(lexicon: Lexicon, event: Event) -> list[Event]:
    """The event with its verb turned over, and with its adjective turned over."""
    turned = [replace(event, verb=lexicon.opposite[event.verb])]
    if event.adjective is not None:
        turned.append(replace(event, adjective=lexicon.opposite[event.adjective]))
    return turned


def relation(lexicon: Lexicon, premise: Statement, hypothesis: Statement) -> Relation:
    """What the premise says of the hypothesis, if both are about one event: what was bought was not sold."""
    p, h = premise.event, hypothesis.event
    turned = any(subsumes(lexicon, event, p) for event in opposites(lexicon, h))
    if premise.negated:
        if not subsumes(lexicon, p, h):
            return "neutral"
        return "entailment" if hypothesis.negated else "contradiction"
    if subsumes(lexicon, h, p):
        return "contradiction" if hypothesis.negated else "entailment"
    if turned:
        return "entailment" if hypothesis.negated else "contradiction"
    return "neutral"


def shared_meaning(lexicon: Lexicon, a: Statement, b: Statement) -> float:
    """0 to 5: the weight of the roles that agree, of those that either fills; kin counts half, and so does denial.

    Kin are two things of one kind, two opposite verbs or adjectives, and two people who changed places.
    """
    swapped = a.event.agent == b.event.object and a.event.object == b.event.agent
    agreed = total = 0.0
    for role, weight in _WEIGHTS.items():
        left, right = getattr(a.event, role), getattr(b.event, role)
        if left is None and right is None:
            continue
        total += weight
        if left == right:
            agreed += weight
        elif left is None or right is None:
            continue
        elif (
            lexicon.opposite.get(left) == right
            or (role == "object" and kind_of(lexicon, left) == kind_of(lexicon, right) != ANYONE)
            or (role in ("agent", "object") and swapped)
        ):
            agreed += weight / 2
    score = 5 * agreed / total
    return round(score / 2 if a.negated != b.negated else score, 1)


def fixed_style(form: int) -> Style:
    """The same form throughout."""
    return lambda _concept: form


def draw_style(draws: Draws, first: int = 50) -> Style:
    """A form for each concept, the first in so many per cent of cases; the same concept always gets the same."""
    chosen: dict[str, int] = {}
    return lambda concept: chosen.setdefault(concept, 0 if draws.chance(first) else 1)


def say(draws: Draws, lexicon: Lexicon, statement: Statement, style: Style) -> str:
    """The statement as a sentence; equal statements may come out quite different."""
    event = statement.event
    verb = verb_forms(lexicon, event.verb, style)
    agent = noun_phrase(lexicon, event.agent, style)
    thing = object_phrase(lexicon, event, style)
    place, time = adjunct(lexicon, event.place, style), adjunct(lexicon, event.time, style)
    past, base, participle = verb
    if statement.negated:
        thing = thing.replace("somebody", "anybody").replace("someone", "anyone")
        denial = draws.pick((f"did not {base}", f"never {past}"))
        clause = f"{agent} {denial} {thing}{place}{time}"
        if event.agent == ANYONE:
            clause = f"{('nobody', 'no one')[style(ANYONE)]} {past} {thing}{place}{time}"
        return sentence(clause)
    manner = draws.below(4)
    if manner == 0:
        return sentence(f"{thing} was {participle} by {agent}{place}{time}")
    if manner == 1 and time:
        return sentence(f"{time.strip()}, {agent} {past} {thing}{place}")
    if manner == 2 and place:
        return sentence(f"{place.strip()}, {agent} {past} {thing}{time}")
    return sentence(f"{agent} {past} {thing}{place}{time}")


def verb_forms(lexicon: Lexicon, verb: str, style: Style) -> tuple[str, str, str]:
    """Past, base and participle."""
    known = lexicon.handling.get(verb) or lexicon.treating[verb]
    return known.forms[style(verb)]


def noun_phrase(lexicon: Lexicon, person: str, style: Style) -> str:
    """`the doctor`, `someone`."""
    if person == ANYONE:
        return ("someone", "somebody")[style(ANYONE)]
    return f"the {lexicon.people[person][style(person)]}"


def object_phrase(lexicon: Lexicon, event: Event, style: Style) -> str:
    """`a big car`, `the doctor`, `someone`."""
    if event.verb in lexicon.treating:
        return noun_phrase(lexicon, event.object, style)
    noun = (lexicon.things.get(event.object) or lexicon.kinds[event.object])[style(event.object)]
    if event.adjective is None:
        return article(noun)
    return article(f"{lexicon.adjectives[event.adjective][style(event.adjective)]} {noun}")


def adjunct(lexicon: Lexicon, concept: str | None, style: Style) -> str:
    """A place or time with a blank before it; nothing for None."""
    if concept is None:
        return ""
    return f" {(lexicon.places.get(concept) or lexicon.times[concept])[style(concept)]}"
