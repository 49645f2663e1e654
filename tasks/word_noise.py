"""Six ways to spoil texts word by word: a word is hit with a probability that is the noise's strength.

Words are what white space parts. What happens to word i of text number r is drawn from a generator that (kind, seed, r)
seed, whatever the strength: a word that is hit at .1 is hit at .2 too, and in the same manner. So a curve over
strengths is not shaken by fresh draws at each of them.
"""

import abc
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import ClassVar, TypeVar

from thawbench.registry import noisers
from thawbench.tasks.sampling import generator
from thawbench.tasks.synonyms import SYNONYMS

_WORD = re.compile(r"\S+")
_BARE = re.compile(r"([^A-Za-z]*)([A-Za-z]+)([^A-Za-z]*)")
_KEYBOARD = ("qwertyuiop", "asdfghjkl", "zxcvbnm")

T = TypeVar("T")


class WordNoise(abc.ABC):
    """What the kinds share: which words are hit, and the white space, which stays as it is."""

    name: ClassVar[str]
    version: ClassVar[int] = 1

    def __call__(self, texts: Sequence[str], strength: float, seed: int) -> list[str]:
        """Each text, its words hit with probability `strength`; the draws are those of (kind, seed, place)."""
        return [self._spoilt(text, strength, seed, place) for place, text in enumerate(texts)]

    def _spoilt(self, text: str, strength: float, seed: int, place: int) -> str:
        words = _WORD.findall(text)
        draws = generator("noise", self.name, seed, place).random((len(words), 3)).tolist()
        hit = sorted((number for number, draw in enumerate(draws) if draw[0] < strength), key=lambda each: draws[each])
        told = self.spoil(words, hit, [(second, third) for _, second, third in draws])
        if told == words:
            return text
        gaps = _WORD.split(text)
        joined = gaps[0] + "".join(word + gap for word, gap in zip(told, gaps[1:], strict=True) if word)
        return joined if all(told) else joined.strip()

    def spoil(self, words: Sequence[str], hit: Sequence[int], draws: Sequence[tuple[float, float]]) -> list[str]:
        """As many words, some of them changed, or empty if they go.

        Args:
            hit: places of the words to change, in the order in which growing strength hits them.
            draws: two numbers from 0 to below 1 for each word.
        """
        told = list(words)
        for place in hit:
            told[place] = self.change(words[place], *draws[place])
        return told

    def change(self, word: str, first: float, second: float) -> str:
        """One word that was hit; the same one if there is nothing to change about it."""
        raise NotImplementedError


@noisers.register("typos")
class Typos(WordNoise):
    """One letter of the word becomes a neighbour on the keyboard."""

    def change(self, word: str, first: float, second: float) -> str:
        """`film` is `fikm`, say."""
        places = [place for place, letter in enumerate(word) if letter.lower() in _NEIGHBOURS]
        if not places:
            return word
        place = _pick(places, first)
        letter = _pick(_NEIGHBOURS[word[place].lower()], second)
        return word[:place] + (letter.upper() if word[place].isupper() else letter) + word[place + 1 :]


@noisers.register("swaps")
class Swaps(WordNoise):
    """Two letters of the word that stand side by side, and differ, change places."""

    def change(self, word: str, first: float, second: float) -> str:
        """`film` is `flim`, say."""
        pairs = [
            place
            for place, (left, right) in enumerate(pairwise(word))
            if left.isalpha() and right.isalpha() and left != right
        ]
        if not pairs:
            return word
        place = _pick(pairs, first)
        return word[:place] + word[place + 1] + word[place] + word[place + 2 :]


@noisers.register("deletions")
class Deletions(WordNoise):
    """The word goes; of a text whose every word is hit, one stays."""

    def spoil(self, words: Sequence[str], hit: Sequence[int], draws: Sequence[tuple[float, float]]) -> list[str]:
        """The words, those that go as empty ones."""
        gone = set(hit[:-1] if len(hit) == len(words) else hit)
        return ["" if place in gone else word for place, word in enumerate(words)]


@noisers.register("order")
class Order(WordNoise):
    """The words that are hit change places among themselves, in a circle drawn at random; one alone stays."""

    def spoil(self, words: Sequence[str], hit: Sequence[int], draws: Sequence[tuple[float, float]]) -> list[str]:
        """The same words; each that is hit stands where the next one of the circle stood."""
        told = list(words)
        circle = sorted(hit, key=lambda place: draws[place])
        for place, following in zip(circle, circle[1:] + circle[:1], strict=True):
            told[following] = words[place]
        return told


@noisers.register("synonyms")
class Synonyms(WordNoise):
    """The word gives way to one of the same meaning, if the table in `synonyms.py` has it."""

    def change(self, word: str, first: float, second: float) -> str:
        """`Film,` is `Movie,`."""
        match = _BARE.fullmatch(word)
        others = SYNONYMS.get(match[2].lower(), ()) if match else ()
        if not match or not others:
            return word
        before, old, after = match.groups()
        new = _pick(others, first)
        if old.isupper() and len(old) > 1:
            new = new.upper()
        elif old[0].isupper():
            new = new.capitalize()
        return before + new + after


@noisers.register("case")
class Case(WordNoise):
    """Capitals become small letters and small letters capitals, as with the wrong key held down."""

    def change(self, word: str, first: float, second: float) -> str:
        """`Film` is `fILM`."""
        return word.swapcase()


FELT_BY_ALL = ("typos", "swaps", "deletions", "order")
"""At a strength of .2 these change 17 to 20 % of the words of SST-2. `synonyms` knows 6 % of them at its strongest, and
`case` is nothing to an encoder that lowers all letters: a mean with them would be of less noise than its name says, and
of another amount for each encoder. They, and noises of another distribution, are asked for by name."""


def _pick(choices: Sequence[T], draw: float) -> T:
    return choices[int(draw * len(choices))]


def _neighbours() -> dict[str, str]:
    """Each letter and those whose keys touch its own: a row of keys stands half a key to the right of the one above."""
    at = {key: (column + row / 2, row) for row, keys in enumerate(_KEYBOARD) for column, key in enumerate(keys)}
    return {
        key: "".join(
            other
            for other, (column, row) in at.items()
            if other != key and abs(row - at[key][1]) <= 1 and abs(column - at[key][0]) <= 1
        )
        for key in at
    }


_NEIGHBOURS = _neighbours()
