"""Topics of the embedded world: twelve subjects in four fields, each told in other words in train and test."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from thawbench.tasks.world.draws import Draws, sentence
from thawbench.tasks.world.rows import Split, TopicText

Part = Literal["train", "test"]


@dataclass(frozen=True)
class _Told:
    """Who did what, in any combination."""

    who: tuple[str, ...]
    what: tuple[str, ...]


@dataclass(frozen=True)
class _Subject:
    coarse: str
    fine: str
    train: _Told
    test: _Told


def _told(who: str, what: str) -> _Told:
    return _Told(tuple(who.split(", ")), tuple(what.split(", ")))


_SUBJECTS = (
    _Subject(
        "nature",
        "animals",
        _told(
            "fox, wolf, lynx, weasel",
            "hid in its lair, hunted at dusk, fed its young, growled at the intruder",
        ),
        _told(
            "badger, squirrel, bear, deer",
            "licked its fur, slept all winter, ran off, sniffed at the tracks",
        ),
    ),
    _Subject(
        "nature",
        "plants",
        _told(
            "rose, oak, tulip, fern",
            "grew beside the wall, lost its leaves, put out buds, needed watering",
        ),
        _told(
            "lily, birch, daisy, ivy",
            "bloomed, withered, struck roots in the soil, sprouted from a seed",
        ),
    ),
    _Subject(
        "nature",
        "weather",
        _told(
            "rain, wind, storm, fog",
            "lasted all night, came in from the west, grew worse, cleared before noon",
        ),
        _told(
            "snow, hail, drizzle, sleet",
            "fell on the hills, soaked the roofs, followed a cold front, let up",
        ),
    ),
    _Subject(
        "sport",
        "football",
        _told(
            "striker, goalkeeper, defender, winger",
            "scored twice, headed the ball, won a penalty, was booked",
        ),
        _told(
            "midfielder, substitute, forward, team captain",
            "hit the crossbar, took the corner kick, was offside, was sent off for a foul",
        ),
    ),
    _Subject(
        "sport",
        "swimming",
        _told(
            "swimmer, diver, lifeguard, relay squad",
            "touched the wall first, crossed the pool, practised the butterfly, jumped from the high board",
        ),
        _told(
            "snorkeller, paddler, backstroke champion, water polo player",
            "swam forty lengths, put on goggles, dived in at the deep end, floated in the lane",
        ),
    ),
    _Subject(
        "sport",
        "cycling",
        _told(
            "cyclist, rider, racer, sprinter",
            "climbed the pass in low gear, pedalled to the summit, had a flat tyre, led the peloton",
        ),
        _told(
            "biker, mountain bike ace, bicycle courier, tandem crew",
            "oiled the chain, braked in the bend, adjusted the saddle, gripped the handlebars",
        ),
    ),
    _Subject(
        "science",
        "astronomy",
        _told(
            "astronomer, telescope, observatory, probe",
            "photographed a galaxy, measured a distant star, recorded an eclipse, searched for new planets",
        ),
        _told(
            "stargazer, space agency, orbiter, satellite",
            "mapped the craters of the moon, spotted a comet, circled Saturn, observed a supernova",
        ),
    ),
    _Subject(
        "science",
        "medicine",
        _told(
            "doctor, surgeon, clinic, specialist",
            "treated the infection, operated on the knee, prescribed antibiotics, discharged the patient",
        ),
        _told(
            "physician, nurse, hospital, paramedic",
            "set the broken bone, vaccinated the children, took a blood sample, diagnosed the illness",
        ),
    ),
    _Subject(
        "science",
        "computing",
        _told(
            "programmer, developer, software firm, hacker",
            "fixed a bug, wrote the code, rebooted the server, installed an update",
        ),
        _told(
            "coder, web designer, administrator, IT department",
            "debugged the app, crashed the database, encrypted the hard disk, migrated the website",
        ),
    ),
    _Subject(
        "household",
        "cooking",
        _told(
            "cook, baker, chef, hostess",
            "kneaded the dough, peeled the potatoes, simmered the sauce, seasoned the roast",
        ),
        _told(
            "caterer, kitchen hand, pastry maker, grill master",
            "whisked the eggs, chopped the onions, fried the mushrooms, iced the cake",
        ),
    ),
    _Subject(
        "household",
        "repairs",
        _told(
            "carpenter, builder, plumber, electrician",
            "hammered in the nails, sealed the leaking pipe, plastered the ceiling, sawed the planks",
        ),
        _told(
            "joiner, roofer, bricklayer, handyman",
            "laid the tiles, drilled holes for the screws, mixed the cement, rewired the lamp",
        ),
    ),
    _Subject(
        "household",
        "money",
        _told(
            "bank, accountant, broker, insurer",
            "raised the interest rate, checked the invoices, sold the shares, paid out the loan",
        ),
        _told(
            "lender, treasurer, investor, auditor",
            "balanced the budget, approved the mortgage, transferred the savings, bought government bonds",
        ),
    ),
)
COARSE = tuple(dict.fromkeys(subject.coarse for subject in _SUBJECTS))
FINE = tuple(subject.fine for subject in _SUBJECTS)
_WHEN = ("", "on Monday ", "this week ", "last year ", "yesterday ", "in May ", "in March ", "at last ")
_HOW = ("", " as planned", " after a long wait", " without delay", " for the second time", " quite unexpectedly")
_SAID = ("", "", "it seems that ", "we read that ", "they told us that ")


def make_topics(seed: int, train: int, test: int) -> Split[TopicText]:
    """That many rows, evenly over the fine classes; no content word of a test row is in a train row."""
    return Split(_rows(seed, "train", train), _rows(seed, "test", test))


def unlabelled_topics(seed: int) -> Iterator[str]:
    """Endless sentences that mix the words of both splits within a subject; none is a row of either split."""
    draws = Draws(seed, "topics", "unlabelled")
    while True:
        subject = draws.pick(_SUBJECTS)
        first, second = (subject.train, subject.test) if draws.chance(50) else (subject.test, subject.train)
        yield _tell(draws, first.who, second.what)


def _rows(seed: int, part: Part, count: int) -> tuple[TopicText, ...]:
    draws = Draws(seed, "topics", part)
    rows: dict[str, TopicText] = {}
    while len(rows) < count:
        subject = _SUBJECTS[len(rows) % len(_SUBJECTS)]
        told = subject.train if part == "train" else subject.test
        row = TopicText(_tell(draws, told.who, told.what), subject.coarse, subject.fine)
        rows.setdefault(row.text, row)
    return tuple(draws.shuffled(list(rows.values())))


def _tell(draws: Draws, who: tuple[str, ...], what: tuple[str, ...]) -> str:
    when, said = draws.pick(_WHEN), draws.pick(_SAID)
    return sentence(f"{said}{when}the {draws.pick(who)} {draws.pick(what)}{draws.pick(_HOW)}")
