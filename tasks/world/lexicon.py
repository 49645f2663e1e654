"""Words for events: two ways to say each thing. Train and test have different things to say."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Part = Literal["train", "test"]


@dataclass(frozen=True)
class Verb:
    """Two synonyms, each as (past, base, participle), and the verb that undoes or contradicts it."""

    forms: tuple[tuple[str, str, str], tuple[str, str, str]]
    opposite: str


@dataclass(frozen=True)
class Lexicon:
    """What can be said in one split. A concept is named by the first of its two forms.

    Attributes:
        people, things, kinds, adjectives, places, times: concept to its two forms.
        kind_of: a thing's kind (`car`: `vehicle`).
        handling: verbs whose object is a thing; treating: those whose object is a person.
        opposite: for adjectives and verbs.
    """

    people: Mapping[str, tuple[str, str]]
    things: Mapping[str, tuple[str, str]]
    kinds: Mapping[str, tuple[str, str]]
    kind_of: Mapping[str, str]
    adjectives: Mapping[str, tuple[str, str]]
    places: Mapping[str, tuple[str, str]]
    times: Mapping[str, tuple[str, str]]
    handling: Mapping[str, Verb]
    treating: Mapping[str, Verb]
    opposite: Mapping[str, str]


def _concepts(text: str) -> dict[str, tuple[str, str]]:
    """`car/automobile, truck/lorry` as concepts."""
    out = {}
    for concept in text.split(", "):
        first, second = concept.split("/")
        out[first] = (first, second)
    return out


def _verb(synonyms: str) -> tuple[tuple[str, str, str], tuple[str, str, str]]:
    """`found find found/spotted spot spotted`; one word if past and participle are base + ed."""
    forms = []
    for synonym in synonyms.split("/"):
        words = synonym.split()
        past, base, participle = words if len(words) == 3 else (f"{synonym}ed", synonym, f"{synonym}ed")
        forms.append((past, base, participle))
    first, second = forms
    return first, second


def _verbs(*pairs: tuple[str, str]) -> dict[str, Verb]:
    out = {}
    for left, right in pairs:
        a, b = _verb(left), _verb(right)
        out[a[0][0]] = Verb(a, b[0][0])
        out[b[0][0]] = Verb(b, a[0][0])
    return out


def _lexicon(
    people: str,
    things: dict[str, str],
    adjectives: tuple[str, ...],
    places: str,
    times: str,
    handling: dict[str, Verb],
    treating: dict[str, Verb],
) -> Lexicon:
    members = {kind: _concepts(listed) for kind, listed in things.items()}
    described: dict[str, tuple[str, str]] = {}
    opposite = {past: verb.opposite for past, verb in (handling | treating).items()}
    for pair in adjectives:
        concepts = _concepts(pair)
        described |= concepts
        left, right = concepts
        opposite |= {left: right, right: left}
    kinds = {kind.split("/")[0]: _concepts(kind)[kind.split("/")[0]] for kind in things}
    return Lexicon(
        people=_concepts(people),
        things={thing: forms for listed in members.values() for thing, forms in listed.items()},
        kinds=kinds,
        kind_of={thing: kind.split("/")[0] for kind, listed in members.items() for thing in listed},
        adjectives=described,
        places=_concepts(places),
        times=_concepts(times),
        handling=handling,
        treating=treating,
        opposite=opposite,
    )


LEXICONS: Mapping[Part, Lexicon] = {
    "train": _lexicon(
        people="doctor/physician, lawyer/attorney, teacher/schoolmaster, writer/author, thief/burglar, "
        "neighbour/man next door, boy/lad, policeman/constable",
        things={
            "vehicle/means of transport": "car/automobile, bicycle/bike, truck/lorry, boat/vessel",
            "piece of furniture/home furnishing": "sofa/couch, cupboard/closet, carpet/rug, lamp/light",
            "garment/piece of clothing": "sweater/jumper, coat/overcoat, hat/cap, waistcoat/vest",
        },
        adjectives=("big/large, small/little", "new/modern, old/ancient", "heavy/weighty, light/lightweight"),
        places="in the garden/in the yard, at the shop/at the store, in the woods/in the forest, "
        "in the street/on the road, at the seaside/by the sea",
        times="at dawn/at daybreak, over the weekend/at the weekend, in spring/in springtime, last week/a week ago, "
        "in the evening/towards evening",
        handling=_verbs(
            ("bought buy bought/purchased purchase purchased", "sold sell sold/auctioned auction auctioned"),
            ("repaired repair repaired/mend", "broke break broken/damaged damage damaged"),
            ("found find found/discover", "lost lose lost/mislaid mislay mislaid"),
            ("built build built/construct", "demolish/dismantled dismantle dismantled"),
            ("praised praise praised/admired admire admired", "mock/ridiculed ridicule ridiculed"),
        ),
        treating=_verbs(
            ("help/assist", "hindered hinder hindered/obstruct"),
            ("invited invite invited/summon", "avoid/shunned shun shunned"),
        ),
    ),
    "test": _lexicon(
        people="cook/chef, pupil/student, sailor/seaman, merchant/trader, janitor/caretaker, king/monarch, "
        "painter/artist, actor/performer",
        things={
            "tool/implement": "axe/hatchet, wrench/spanner, spade/shovel, hammer/mallet",
            "bag/piece of luggage": "backpack/rucksack, handbag/purse, suitcase/valise, basket/hamper",
            "picture/image": "photo/photograph, drawing/sketch, poster/placard, map/chart",
        },
        adjectives=(
            "cheap/inexpensive, expensive/costly",
            "pretty/beautiful, ugly/hideous",
            "dry/dried-out, wet/soaked",
        ),
        places="at the harbour/at the port, in the attic/in the loft, in the cellar/in the basement, "
        "in town/in the city, near the church/close to the chapel",
        times="at noon/at midday, at midnight/in the middle of the night, in autumn/in the fall, "
        "in winter/during the winter, after lunch/after the midday meal",
        handling=_verbs(
            ("cleaned clean cleaned/wash", "soil/dirtied dirty dirtied"),
            ("hid hide hidden/concealed conceal concealed", "showed show shown/display"),
            ("kept keep kept/retain", "discard/abandon"),
            ("accept/took take taken", "refused refuse refused/reject"),
            ("made make made/craft", "destroy/wreck"),
        ),
        treating=_verbs(
            ("employ/hired hire hired", "dismissed dismiss dismissed/fired fire fired"),
            ("greet/welcomed welcome welcomed", "ignored ignore ignored/neglect"),
        ),
    ),
}
