"""Pairs of the embedded world: inference and graded similarity, both read off the meaning of the two sentences."""

from collections.abc import Iterator
from dataclasses import replace
from typing import get_args

from thawbench.contracts import Relation
from thawbench.tasks.world.draws import Draws
from thawbench.tasks.world.events import (
    Event,
    Statement,
    draw_event,
    draw_style,
    fixed_style,
    kind_of,
    opposites,
    relation,
    say,
    set_role,
    shared_meaning,
)
from thawbench.tasks.world.lexicon import LEXICONS, Lexicon, Part
from thawbench.tasks.world.rows import InferencePair, ScoredPair, Split

_RELATIONS: tuple[Relation, ...] = get_args(Relation)
_MODIFIERS = ("adjective", "place", "time")


def make_inference(seed: int, train: int, test: int) -> Split[InferencePair]:
    """That many pairs, the relations in turn.

    The hypothesis is drawn before the relation is looked at and never again, so that it tells nothing of it.
    """
    return Split(_inference(seed, "train", train), _inference(seed, "test", test))


def make_similarity(seed: int, train: int, test: int) -> Split[ScoredPair]:
    """That many pairs. Those that mean the same share few words, those that differ share many."""
    return Split(_similarity(seed, "train", train), _similarity(seed, "test", test))


def unlabelled_events(seed: int) -> Iterator[str]:
    """Endless sentences about events, with the words of both splits in turn, and each fact told in two ways."""
    draws = Draws(seed, "events", "unlabelled")
    while True:
        for lexicon in LEXICONS.values():
            statement = Statement(draw_event(draws, lexicon, modifiers=60, vague=10), draws.chance(20))
            form = draws.below(2)
            yield say(draws, lexicon, statement, fixed_style(form))
            yield say(draws, lexicon, statement, fixed_style(1 - form))


def _inference(seed: int, part: Part, count: int) -> tuple[InferencePair, ...]:
    draws, lexicon = Draws(seed, "inference", part), LEXICONS[part]
    rows: dict[tuple[str, str], InferencePair] = {}
    while len(rows) < count:
        wanted = _RELATIONS[len(rows) % len(_RELATIONS)]
        hypothesis = Statement(draw_event(draws, lexicon, modifiers=45, vague=25), draws.chance(35))
        premise = _premise(draws, lexicon, hypothesis, wanted)
        texts = (
            say(draws, lexicon, premise, draw_style(draws)),
            say(draws, lexicon, hypothesis, draw_style(draws)),
        )
        if texts[0] != texts[1]:
            rows.setdefault(texts, InferencePair(*texts, wanted))
    return tuple(draws.shuffled(list(rows.values())))


def _premise(draws: Draws, lexicon: Lexicon, hypothesis: Statement, wanted: Relation) -> Statement:
    """Edits of the hypothesis until one stands to it as wanted; there always is one."""
    while True:
        event = hypothesis.event
        if draws.chance(40):
            event = draws.pick(opposites(lexicon, event))
        direction = draws.below(3)  # 0: say more, 1: say less, 2: both
        if direction != 0:
            event = _less(draws, lexicon, event)
        if direction != 1:
            event = _more(draws, lexicon, event)
        premise = Statement(event, draws.chance(40))
        if relation(lexicon, premise, hypothesis) == wanted:
            return premise


def _more(draws: Draws, lexicon: Lexicon, event: Event) -> Event:
    """Some modifiers that were not stated, and some general nouns made particular."""
    said = draw_event(draws, lexicon, modifiers=60)
    if event.agent == kind_of(lexicon, said.agent) and said.agent != event.object and draws.chance(60):
        event = replace(event, agent=said.agent)
    members = [thing for thing in (*lexicon.things, *lexicon.people) if kind_of(lexicon, thing) == event.object]
    if members and draws.chance(60):
        member = draws.pick(members)
        event = event if member == event.agent else replace(event, object=member)
    for role in _MODIFIERS:
        allowed = role != "adjective" or event.verb in lexicon.handling
        if allowed and getattr(event, role) is None and draws.chance(50):
            event = set_role(event, role, _other(draws, lexicon, role, None))
    return event


def _less(draws: Draws, lexicon: Lexicon, event: Event) -> Event:
    """Some of what was stated left out."""
    for role in ("agent", "object"):
        if draws.chance(30):
            event = set_role(event, role, kind_of(lexicon, getattr(event, role)))
    for role in _MODIFIERS:
        if draws.chance(50):
            event = set_role(event, role, None)
    return event


def _similarity(seed: int, part: Part, count: int) -> tuple[ScoredPair, ...]:
    draws, lexicon = Draws(seed, "similarity", part), LEXICONS[part]
    rows: dict[tuple[str, str], ScoredPair] = {}
    while len(rows) < count:
        edits = len(rows) % 6  # 0: a paraphrase; 5: another event
        a = Statement(draw_event(draws, lexicon, modifiers=65), draws.chance(15))
        b = a if edits < 5 else Statement(draw_event(draws, lexicon, modifiers=65), draws.chance(15))
        if 0 < edits < 5:
            b = _edited(draws, lexicon, a, edits)
        form = draws.below(2)
        other = 1 - form if edits == 0 or draws.chance(25) else form
        texts = say(draws, lexicon, a, fixed_style(form)), say(draws, lexicon, b, fixed_style(other))
        if texts[0] != texts[1]:
            rows.setdefault(texts, ScoredPair(*texts, shared_meaning(lexicon, a, b)))
    return tuple(draws.shuffled(list(rows.values())))


def _edited(draws: Draws, lexicon: Lexicon, statement: Statement, edits: int) -> Statement:
    """So many roles changed; instead of one of them, two people may change places or the whole be denied."""
    event, negated = statement.event, statement.negated
    if event.object in lexicon.people and draws.chance(50):
        event, edits = replace(event, agent=event.object, object=event.agent), edits - 1
    elif draws.chance(25):
        negated, edits = not negated, edits - 1
    stated = [role for role in _MODIFIERS if getattr(event, role) is not None]
    for role in draws.shuffled(["agent", "verb", "object", *stated])[:edits]:
        event = set_role(event, role, _other(draws, lexicon, role, event))
    return Statement(event, negated)


def _other(draws: Draws, lexicon: Lexicon, role: str, event: Event | None) -> str:
    """Another concept for that role of the event."""
    if event is not None and role == "verb" and draws.chance(40):
        return lexicon.opposite[event.verb]
    treats = event is not None and event.verb in lexicon.treating
    choices = {
        "agent": lexicon.people,
        "verb": lexicon.treating if treats else lexicon.handling,
        "object": lexicon.people if treats else lexicon.things,
        "adjective": lexicon.adjectives,
        "place": lexicon.places,
        "time": lexicon.times,
    }[role]
    taken = () if event is None else (getattr(event, role), event.agent, event.object)
    return draws.pick([concept for concept in choices if concept not in taken])
