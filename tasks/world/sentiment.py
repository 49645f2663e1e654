"""Opinions of the embedded world: three domains, other words of praise and blame in train and test, and negation."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from thawbench.tasks.world.draws import Draws, article, sentence
from thawbench.tasks.world.rows import Construction, LabelledText, Split

Label = Literal["negative", "positive"]
Part = Literal["train", "test"]
LABELS: tuple[Label, Label] = ("negative", "positive")


@dataclass(frozen=True)
class _Polar:
    """Words of one polarity; those of `test` mean what those of `train` mean."""

    train: tuple[str, ...]
    test: tuple[str, ...]


@dataclass(frozen=True)
class _Domain:
    nouns: tuple[str, ...]
    where: tuple[str, ...]
    good: _Polar
    bad: _Polar


def _words(train: str, test: str) -> _Polar:
    return _Polar(tuple(train.split()), tuple(test.split()))


_GOOD = _words("excellent wonderful superb great delightful", "fantastic marvellous splendid terrific good")
_BAD = _words("awful terrible poor dreadful disappointing", "bad lousy horrible miserable atrocious")
_DOMAINS = {
    "meals": _Domain(
        ("soup", "stew", "curry", "fish", "pie", "pasta", "omelette", "roast"),
        ("at the hotel", "in the canteen", "at my aunt's house", "by the harbour", "on the terrace", ""),
        _words("delicious fresh appetising flavoursome", "tasty scrumptious yummy mouth-watering"),
        _words("bland stale greasy overcooked", "tasteless soggy oily inedible"),
    ),
    "films": _Domain(
        ("film", "plot", "story", "ending", "script", "sequel", "thriller", "comedy"),
        ("at the festival", "on television", "at the old cinema", "in the second part", "by the young director", ""),
        _words("gripping moving funny clever", "thrilling touching hilarious witty"),
        _words("boring predictable silly confusing", "dull tedious ridiculous incoherent"),
    ),
    "journeys": _Domain(
        ("journey", "flight", "ride", "drive", "tour", "voyage", "trip", "transfer"),
        ("to the coast", "across the border", "through the mountains", "to the island", "with the night train", ""),
        _words("comfortable smooth relaxing convenient", "pleasant effortless restful enjoyable"),
        _words("bumpy exhausting stressful uncomfortable", "rough tiring nerve-racking cramped"),
    ),
}
DOMAINS = tuple(_DOMAINS)

_OPENERS = ("", "", "honestly, ", "in the end, ", "to be honest, ", "for most of us, ", "all in all, ")
_ADVERBS = ("", "", "really ", "quite ", "simply ", "truly ")
_PLAIN = (
    "{it} was {very}{w}",
    "{it} was {w} and {w2}",
    "{it} seemed {very}{w}",
    "we found {it} {very}{w}",
    "it was {a_w} {noun}",
)
_EMPHATIC = (
    "{it} was not only {w} but {w2}",
    "nobody could deny that {it} was {w}",
    "{it} was never anything but {w}",
    "there was no doubt that {it} was {w}",
    "{it} was nothing if not {w}",
)
_FLIPPED = (
    "{it} was not {w}",
    "{it} was far from {w}",
    "{it} was anything but {w}",
    "{it} was never {w}",
    "{it} was neither {w} nor {w2}",
    "{it} was by no means {w}",
    "nobody found {it} {w}",
    "I would not call {it} {w}",
    "there was nothing {w} about {it}",
)
# {w} is what the speaker found, {other} is what it was not
_CONTRAST = (
    "{it} was {w}, not {other}",
    "{it} was {w} rather than {other}",
    "{it} looked {other} but was {w}",
    "{it} sounded {other} and turned out {w}",
    "we expected {an_other} {noun} and got {a_w} one",
    "what had promised to be {other} was {w}: {it}",
    "{it}, which critics call {other}, was {w}",
)
_SHARES: tuple[tuple[Construction, int], ...] = (("plain", 35), ("emphatic", 15), ("flipped", 20), ("contrast", 30))
_CLAUSES: Mapping[Construction, Sequence[str]] = {
    "plain": _PLAIN,
    "emphatic": _EMPHATIC,
    "flipped": _FLIPPED,
    "contrast": _CONTRAST,
}


def make_sentiment(seed: int, domain: str, train: int, test: int) -> Split[LabelledText]:
    """That many rows, half of each label within every construction; a contrast row's twin is in the same split."""
    return Split(_rows(seed, domain, "train", train), _rows(seed, domain, "test", test))


def unlabelled_sentiment(seed: int) -> Iterator[str]:
    """Endless opinions that mix the words of both splits, each with its like; none is a test row."""
    draws = Draws(seed, "sentiment", "unlabelled")
    while True:
        domain = _DOMAINS[draws.pick(DOMAINS)]
        label = draws.pick(LABELS)
        known, new = _lexicon(domain, label, "train"), _lexicon(domain, label, "test")
        words = draws.shuffled([draws.pick(known), draws.pick(new)])
        others = _lexicon(domain, _opposite(label), "train")
        clause = draws.pick(("{it} was {w} and {w2}", "{it} was {w}, {w2}, and not {other}", "{it} was {w}, even {w2}"))
        yield sentence(draws.pick(_OPENERS) + _fill(draws, clause, domain, words[0], words[1], draws.pick(others)))


def _rows(seed: int, domain: str, part: Part, count: int) -> tuple[LabelledText, ...]:
    draws = Draws(seed, "sentiment", domain, part)
    rows: dict[str, LabelledText] = {}
    end = 0
    for construction, share in _SHARES:
        end += count * share // 100
        while len(rows) < end:
            made = _twins(draws, _DOMAINS[domain], part, construction)
            if not any(row.text in rows for row in made):
                rows.update((row.text, row) for row in made)
    return tuple(draws.shuffled(list(rows.values())))


def _twins(draws: Draws, domain: _Domain, part: Part, construction: Construction) -> list[LabelledText]:
    """One row of each label; in a contrast they have the same words."""
    clause = draws.pick(_CLAUSES[construction])
    opener = draws.pick(_OPENERS)
    good, bad = (draws.two(_lexicon(domain, label, part)) for label in ("positive", "negative"))
    noun, where = draws.pick(domain.nouns), draws.pick(domain.where)
    made = []
    for label in LABELS:
        said = _opposite(label) if construction == "flipped" else label
        (word, second), (other, _) = (good, bad) if said == "positive" else (bad, good)
        if construction != "contrast":  # no need to match word for word: let the rows differ in subject too
            noun, where = draws.pick(domain.nouns), draws.pick(domain.where)
        text = sentence(opener + _fill(draws, clause, domain, word, second, other, noun, where))
        made.append(LabelledText(text, label, construction))
    return made


def _fill(
    draws: Draws,
    clause: str,
    domain: _Domain,
    word: str,
    second: str,
    other: str,
    noun: str | None = None,
    where: str | None = None,
) -> str:
    noun = draws.pick(domain.nouns) if noun is None else noun
    where = draws.pick(domain.where) if where is None else where
    return clause.format(
        it=f"the {noun} {where}".strip(),
        noun=f"{noun} {where}".strip(),
        very=draws.pick(_ADVERBS),
        w=word,
        w2=second,
        other=other,
        a_w=article(word),
        an_other=article(other),
    )


def _lexicon(domain: _Domain, label: Label, part: Part) -> tuple[str, ...]:
    polars = (domain.good, _GOOD) if label == "positive" else (domain.bad, _BAD)
    return tuple(word for polar in polars for word in (polar.train if part == "train" else polar.test))


def _opposite(label: Label) -> Label:
    return "negative" if label == "positive" else "positive"
