"""Questions, answers and echoes of the embedded world: relevance is read off what a document says happened."""

from dataclasses import dataclass
from typing import Literal

from thawbench.tasks.world.draws import Draws, sentence
from thawbench.tasks.world.events import (
    Event,
    Statement,
    Style,
    adjunct,
    draw_event,
    draw_style,
    fixed_style,
    noun_phrase,
    object_phrase,
    say,
    set_role,
    verb_forms,
)
from thawbench.tasks.world.lexicon import LEXICONS, Lexicon, Part
from thawbench.tasks.world.rows import Retrieval, Split

Asked = Literal["agent", "place", "time"]
_ASKED: tuple[Asked, ...] = ("agent", "place", "time")
_CORE = ("agent", "verb", "object")
_MODIFIERS = ("adjective", "place", "time")

_KEPT = 35
"""Per cent of the words of a question that the documents which answer it use too."""

_ECHOES = (
    "Does anybody know {clause}? Any hint is welcome.",
    "For days I have asked myself {clause}. Nobody knows.",
    "Everybody asks {clause}. So far nobody knows.",
    "It is still a riddle {clause}. Please help.",
)
_REMARKS = (
    "It was the talk of the day.",
    "Few people took notice.",
    "A short note in the paper said so.",
    "Everything else stayed as it was.",
    "Some witnesses have confirmed it.",
    "Nothing more is known.",
    "It did not come as a surprise.",
    "There are no doubts about that.",
)


@dataclass(frozen=True)
class _Question:
    """What happened, and which of its roles the asker does not know."""

    event: Event
    asked: Asked


@dataclass(frozen=True)
class _Document:
    """A text and the events that it says took place; an echo says of none."""

    text: str
    events: tuple[Event, ...] = ()


def make_retrieval(seed: int, train: int, test: int) -> Retrieval:
    """That many questions, with four documents for each: an answer, part of one, a like event, and an echo."""
    corpus: list[tuple[str, str]] = []
    queries: dict[Part, tuple[tuple[str, str], ...]] = {}
    relevance: dict[str, dict[str, int]] = {}
    echoes: dict[str, str] = {}
    parts: tuple[tuple[Part, int], ...] = (("train", train), ("test", test))
    for part, count in parts:
        draws, lexicon = Draws(seed, "retrieval", part), LEXICONS[part]
        asked: dict[str, _Question] = {}
        documents: dict[str, _Document] = {}
        texts: list[tuple[str, str]] = []
        for number, question in enumerate(_questions(draws, lexicon, count)):
            query, form = f"{part}-q{number:03}", draws.below(2)
            made = _documents(draws, lexicon, question, form)
            documents |= {f"{part}-d{4 * number + place:04}": document for place, document in enumerate(made)}
            echoes[query] = f"{part}-d{4 * number + 3:04}"
            asked[query] = question
            texts.append((query, _ask(lexicon, question, fixed_style(form))))
        queries[part] = tuple(texts)
        for query, question in asked.items():
            grades = {
                name: max((_grade(question, event) for event in d.events), default=0) for name, d in documents.items()
            }
            relevance[query] = {name: grade for name, grade in grades.items() if grade}
        corpus += [(name, document.text) for name, document in documents.items()]
    return Retrieval(
        dict(Draws(seed, "retrieval", "corpus").shuffled(corpus)),
        Split(queries["train"], queries["test"]),
        relevance,
        echoes,
    )


def _questions(draws: Draws, lexicon: Lexicon, count: int) -> list[_Question]:
    """Different questions, who, where and when in turn; the asker knows all the rest of it."""
    made: dict[_Question, None] = {}
    while len(made) < count:
        made.setdefault(_Question(draw_event(draws, lexicon, modifiers=100), _ASKED[len(made) % len(_ASKED)]))
    return list(made)


def _documents(draws: Draws, lexicon: Lexicon, question: _Question, form: int) -> list[_Document]:
    """Answer, part of it, a like event elsewhere or at another time, echo: the first three mostly in other words."""
    event = question.event
    known = draws.pick([role for role in ("place", "time") if role != question.asked])
    others = [one for one in (lexicon.places if known == "place" else lexicon.times) if one != getattr(event, known)]
    told = (event, set_role(event, known, None), set_role(event, known, draws.pick(others)))
    echo = draws.pick(_ECHOES).format(clause=_ask(lexicon, question, fixed_style(form), indirect=True))
    return [*(_tell(draws, lexicon, fact, form) for fact in told), _Document(echo)]


def _tell(draws: Draws, lexicon: Lexicon, event: Event, form: int) -> _Document:
    """The event among one to three other sentences, of which one may tell of something else."""
    around = [draws.pick(_REMARKS)]
    events = [event]
    style = draw_style(draws, first=_KEPT if form == 0 else 100 - _KEPT)
    if draws.chance(40):
        events.append(draw_event(draws, lexicon))
        around.append(say(draws, lexicon, Statement(events[1]), style))
    if draws.chance(40):
        around.append(draws.pick([remark for remark in _REMARKS if remark != around[0]]))
    said = say(draws, lexicon, Statement(event), style)
    texts = (*around[1:2], said, around[0], *around[2:])
    return _Document(" ".join(texts), tuple(events))


def _ask(lexicon: Lexicon, question: _Question, style: Style, *, indirect: bool = False) -> str:
    """`Where did the doctor buy a big car at dawn?`, or `where the doctor bought a big car at dawn`."""
    event = question.event
    past, base, _ = verb_forms(lexicon, event.verb, style)
    agent, thing = noun_phrase(lexicon, event.agent, style), object_phrase(lexicon, event, style)
    place, time = adjunct(lexicon, event.place, style), adjunct(lexicon, event.time, style)
    if question.asked == "agent":
        clause = f"who {past} {thing}{place}{time}"
    else:
        word, known = ("where", time) if question.asked == "place" else ("when", place)
        clause = f"{word} {agent} {past} {thing}{known}" if indirect else f"{word} did {agent} {base} {thing}{known}"
    return clause if indirect else sentence(clause, "?")


def _grade(question: _Question, event: Event) -> int:
    """How far a document that tells of this event answers the question; see `Retrieval.relevance`."""
    wanted, asked = question.event, question.asked
    if any(getattr(wanted, role) != getattr(event, role) for role in _CORE if role != asked):
        return 0
    known = [role for role in _MODIFIERS if role != asked and getattr(wanted, role) is not None]
    told = [getattr(event, role) for role in known]
    if getattr(event, asked) is None or any(
        said not in (None, getattr(wanted, role)) for role, said in zip(known, told, strict=True)
    ):
        return 1
    return 2 if None in told else 3
