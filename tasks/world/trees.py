"""Dependency trees of the embedded world: sentences grown from the root, so they are projective and well formed."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from thawbench.tasks.world.draws import Draws
from thawbench.tasks.world.rows import Split, Tree

_CONTENT = frozenset(("NOUN", "PROPN", "VERB", "ADJ", "ADV"))
Part = Literal["train", "test"]


@dataclass
class _Node:
    """A word and what depends on it, in order, before and after it."""

    word: str
    upos: str
    relation: str = "root"
    before: list["_Node"] = field(default_factory=list)
    after: list["_Node"] = field(default_factory=list)


@dataclass(frozen=True)
class _Words:
    """Verbs as (past, base); intransitive ones end no sentence badly with a place behind them."""

    nouns: tuple[str, ...]
    names: tuple[str, ...]
    adjectives: tuple[str, ...]
    places: tuple[tuple[str, str], ...]
    transitive: tuple[tuple[str, str], ...]
    intransitive: tuple[tuple[str, str], ...]
    saying: tuple[tuple[str, str], ...]
    trying: tuple[tuple[str, str], ...]
    adverbs: tuple[str, ...]


def _verbs(text: str) -> tuple[tuple[str, str], ...]:
    """`called/call` as (past, base)."""
    return tuple((past, base) for past, base in (verb.split("/") for verb in text.split()))


_WORDS: dict[Part, _Words] = {
    "train": _Words(
        nouns=(
            "captain",
            "dog",
            "girl",
            "guard",
            "horse",
            "judge",
            "hunter",
            "poet",
            "queen",
            "singer",
            "tailor",
            "widow",
        ),
        names=("Alice", "Peter", "Maria"),
        adjectives=("young", "old", "tired", "quiet", "brave", "small"),
        places=(("in", "garden"), ("near", "bridge"), ("behind", "house"), ("at", "station"), ("on", "hill")),
        transitive=_verbs("called/call followed/follow saw/see helped/help watched/watch thanked/thank"),
        intransitive=_verbs("slept/sleep waited/wait laughed/laugh danced/dance"),
        saying=_verbs("said/say believed/believe"),
        trying=_verbs("tried/try wanted/want"),
        adverbs=("slowly", "quietly", "often", "gladly"),
    ),
    "test": _Words(
        nouns=(
            "sailor",
            "cat",
            "boy",
            "soldier",
            "donkey",
            "lawyer",
            "miner",
            "painter",
            "prince",
            "dancer",
            "butcher",
            "orphan",
        ),
        names=("Emma", "Robert", "Nora"),
        adjectives=("clever", "friendly", "hungry", "proud", "tall", "sleepy"),
        places=(("in", "forest"), ("near", "river"), ("behind", "barn"), ("at", "harbour"), ("on", "roof")),
        transitive=_verbs("greeted/greet chased/chase met/meet trusted/trust admired/admire warned/warn"),
        intransitive=_verbs("rested/rest worked/work smiled/smile stumbled/stumble"),
        saying=_verbs("thought/think claimed/claim"),
        trying=_verbs("decided/decide hoped/hope"),
        adverbs=("rarely", "calmly", "eagerly", "suddenly"),
    ),
}


def make_trees(seed: int, train: int, test: int) -> Split[Tree]:
    """That many different sentences; the content words of test are not those of train."""
    return Split(_trees(seed, "train", train), _trees(seed, "test", test))


def unlabelled_trees(seed: int) -> Iterator[str]:
    """Endless sentences, with the words of both splits in turn."""
    draws = Draws(seed, "trees", "unlabelled")
    while True:
        for words in _WORDS.values():
            yield _tree(draws, words).text


def _trees(seed: int, part: Part, count: int) -> tuple[Tree, ...]:
    draws = Draws(seed, "trees", part)
    made: dict[Tree, None] = {}
    while len(made) < count:
        made.setdefault(_tree(draws, _WORDS[part]))
    return tuple(made)


def _tree(draws: Draws, words: _Words) -> Tree:
    """A sentence that names nothing twice: `Peter said that Peter helped Peter` is no pleasure to read."""
    while True:
        root = _clause(draws, words, depth=2)
        root.after.append(_Node(".", "PUNCT", "punct"))
        tree = _flatten(root)
        content = [word for word, upos in zip(tree.words, tree.upos, strict=True) if upos in _CONTENT]
        if len(set(content)) == len(content):
            return tree


def _flatten(root: _Node) -> Tree:
    """Words in the order of the sentence, each with its head's position."""
    order: list[_Node] = []
    head_of: dict[int, _Node] = {}

    def walk(node: _Node) -> None:
        for child in node.before:
            head_of[id(child)] = node
            walk(child)
        order.append(node)
        for child in node.after:
            head_of[id(child)] = node
            walk(child)

    walk(root)
    position = {id(node): place for place, node in enumerate(order, start=1)}
    words = [node.word for node in order]
    words[0] = words[0][0].upper() + words[0][1:]
    return Tree(
        tuple(words),
        tuple(position[id(head_of[id(node)])] if node is not root else 0 for node in order),
        tuple(node.relation for node in order),
        tuple(node.upos for node in order),
    )


def _clause(draws: Draws, words: _Words, depth: int) -> _Node:
    """A finite clause, at depth 0 without others inside; the node is its verb."""
    kind = draws.below(6) if depth else draws.below(3)
    if kind == 5:  # `slept and waited`
        verb = _verb_phrase(draws, words, 0)
        second = _verb_phrase(draws, words, 0)
        second.relation = "conj"
        second.before.insert(0, _Node("and", "CCONJ", "cc"))
        verb.after.append(second)
    elif kind == 4:  # `tried to help the girl`
        past, base = draws.pick(words.trying)
        verb = _finite(draws, past, base)
        inner = _infinitive(draws, words)
        verb.after.append(inner)
    elif kind == 3:  # `said that the girl slept`
        past, base = draws.pick(words.saying)
        verb = _finite(draws, past, base)
        inner = _clause(draws, words, depth - 1)
        inner.relation = "ccomp"
        inner.before.insert(0, _Node("that", "SCONJ", "mark"))
        verb.after.append(inner)
    else:
        verb = _verb_phrase(draws, words, depth)
    verb.before.insert(0, _subject(draws, words, depth))
    return verb


def _verb_phrase(draws: Draws, words: _Words, depth: int) -> _Node:
    """A verb with object, adverb and place, but no subject. What follows it always belongs to the verb before it."""
    transitive = draws.chance(60)
    past, base = draws.pick(words.transitive if transitive else words.intransitive)
    verb = _finite(draws, past, base)
    if draws.chance(25):
        verb.before.append(_Node(draws.pick(words.adverbs), "ADV", "advmod"))
    placed = draws.chance(50)
    if transitive:
        verb.after.append(_object(draws, words, 0 if placed else depth))
    if placed:
        verb.after.append(_prepositional(draws, words, "obl"))
    return verb


def _finite(draws: Draws, past: str, base: str) -> _Node:
    """`slept`, or `did not sleep`."""
    if draws.chance(80):
        return _Node(past, "VERB")
    return _Node(base, "VERB", before=[_Node("did", "AUX", "aux"), _Node("not", "PART", "advmod")])


def _infinitive(draws: Draws, words: _Words) -> _Node:
    transitive = draws.chance(60)
    _, base = draws.pick(words.transitive if transitive else words.intransitive)
    verb = _Node(base, "VERB", "xcomp", before=[_Node("to", "PART", "mark")])
    if transitive:
        verb.after.append(_object(draws, words, 0))
    return verb


def _subject(draws: Draws, words: _Words, depth: int) -> _Node:
    """Any noun phrase, also `the dog near the bridge` and `the dog and the girl`."""
    kind = draws.below(100)
    if kind < 20:
        return _object(draws, words, depth, "nsubj")
    noun = _noun(draws, words, "nsubj")
    if kind < 40 and noun.upos == "NOUN":
        noun.after.append(_prepositional(draws, words, "nmod"))
    elif depth and kind < 55:
        second = _noun(draws, words, "conj")
        second.before.insert(0, _Node("and", "CCONJ", "cc"))
        noun.after.append(second)
    return noun


def _object(draws: Draws, words: _Words, depth: int, relation: str = "obj") -> _Node:
    """A noun, if there is depth left perhaps with a clause: `the dog that followed the girl`."""
    noun = _noun(draws, words, relation)
    if depth and noun.upos == "NOUN" and draws.chance(60 if relation == "nsubj" else 25):
        inner = _verb_phrase(draws, words, 0)
        inner.relation = "acl:relcl"
        inner.before.insert(0, _Node("that", "PRON", "nsubj"))
        noun.after.append(inner)
    return noun


def _noun(draws: Draws, words: _Words, relation: str) -> _Node:
    """`Alice`, `the dog`, `the old dog`."""
    if draws.chance(15):
        return _Node(draws.pick(words.names), "PROPN", relation)
    noun = _Node(draws.pick(words.nouns), "NOUN", relation, before=[_Node("the", "DET", "det")])
    if draws.chance(40):
        noun.before.append(_Node(draws.pick(words.adjectives), "ADJ", "amod"))
    return noun


def _prepositional(draws: Draws, words: _Words, relation: str) -> _Node:
    preposition, noun = draws.pick(words.places)
    return _Node(noun, "NOUN", relation, before=[_Node(preposition, "ADP", "case"), _Node("the", "DET", "det")])
