"""What every strategy must hold to: one small function for each demand. It raises `Failed`, or has found no fault."""

import copy
import dataclasses
import inspect
import json
import re
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from thawbench.contracts import Adapted, Budget, ClassTarget, Input, Labelled, Provides, Seeds, Signal, TrainSet
from thawbench.errors import DegenerateError, NotApplicableError
from thawbench.strategies.adapted import load_state
from thawbench.strategies.encoder import Encoder
from thawbench.suite.conformance import (
    PROBES,
    Check,
    Failed,
    Observed,
    Subject,
    dense,
    inputs_of,
    observed,
    without_dev,
)
from thawbench.suite.conformance_watch import generators, generators_put_back, seed_generators, texts_of, tokenized
from thawbench.tasks.mteb_bridge import AdaptedForMteb, check_vectors, mteb_calls

ODD_TEXTS = ("", "   ", "🙂🏽🏳️‍🌈", "\x00\x07\x1b\u200b", "a\ud800b", "x" * 5000, "مرحبا بالعالم שלום", "\n\t")
_LONG_TEXT = "the soup was not good and " * 400
_TOLERANCE = 1e-4
"""Of a vector's largest component; far above what another batch shape does in float32 (2e-6), far below a mix-up."""

_WORD = re.compile(r"\w+")


def contract(subject: Subject) -> None:
    """What is declared can be, and `fit` takes what the suite gives."""
    kind = type(subject.strategy)
    if not isinstance(kind.name, str) or not kind.name:
        raise Failed("name is no text")
    if type(kind.version) is not int or kind.version < 1:
        raise Failed(f"version is {kind.version!r}; it must be a whole number from 1")
    config = subject.strategy.config
    if not dataclasses.is_dataclass(kind.Config) or not kind.Config.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        raise Failed("Config is no frozen dataclass; write @dataclass(frozen=True) above it")
    values = dataclasses.asdict(config)
    try:
        plain = json.loads(json.dumps(values, allow_nan=False)) == values
    except (TypeError, ValueError):
        plain = False
    if not plain:
        raise Failed("Config holds something else than plain JSON types")
    _subset("consumes", kind.consumes, frozenset(Signal))
    _subset("provides", kind.provides, frozenset(Provides))
    _subset("draws", kind.draws, frozenset({"init", "order"}))
    if not kind.provides:
        raise Failed("provides is empty; say what comes out of it")
    try:
        inspect.signature(subject.strategy.fit).bind(None, None, seeds=None, budget=None, adapt=None)
    except TypeError as error:
        raise Failed(f"fit(start, data, *, seeds, budget, adapt) cannot be called: {error}") from None
    before = copy.deepcopy(config)
    for data, adapted in subject.fitted():
        if subject.strategy.config != before:
            raise Failed("fit changes the config, which cells are known by; what is learnt goes into the state")
        missing = subject.strategy.provides_on(data.signals) - adapted.provides
        if missing:
            raise Failed(f"fitted on {data.name} it does not provide {_listed(missing)}, though it says so")


def same_seed_same_bytes(subject: Subject) -> None:
    """A second fit gives the same vectors, logits and state."""
    for data, adapted in subject.fitted():
        _same(observed(adapted, data), observed(subject.fit(data), data), f"two fits on {data.name} with one seed")


def init_seed(subject: Subject) -> None:
    """Another init seed changes something if `draws` names it, and nothing if not."""
    _seed_stream(subject, "init")


def order_seed(subject: Subject) -> None:
    """Another order seed changes something if `draws` names it, and nothing if not."""
    _seed_stream(subject, "order")


def no_global_random_state(subject: Subject) -> None:
    """Neither read nor moved."""
    with generators_put_back():
        for data, _ in subject.fitted():
            seed_generators(1)
            before = generators()
            other = observed(subject.fit(data), data)
            moved = [name for name, state in generators().items() if state != before[name]]
            if moved:
                raise Failed(f"a fit on {data.name} moves the global random state of {', '.join(moved)}")
            seed_generators(2)
            again = observed(subject.fit(data), data)
            _same(other, again, f"two fits on {data.name} under other global random states")


def odd_texts(subject: Subject) -> None:
    """An empty list, one text, a text over the window, and texts that nobody expected."""
    for _, adapted in subject.with_vectors():
        dim = _encoded(adapted, PROBES, "four texts").shape[1]
        for what, texts in (
            ("an empty list", ()),
            ("one text", PROBES[:1]),
            ("a long text", (_LONG_TEXT,)),
            *((f"the text {ascii(text)[:20]}", (text,)) for text in ODD_TEXTS),
            ("odd texts together", ODD_TEXTS),
        ):
            vectors = _encoded(adapted, texts, what)
            if vectors.shape != (len(texts), dim):
                raise Failed(f"encode of {what} has the shape {vectors.shape}, not {(len(texts), dim)}")
            if not np.isfinite(vectors).all():
                raise Failed(f"encode of {what} is not finite")


def order_kept(subject: Subject) -> None:
    """Each text has its own vector, wherever it stands and whatever stands around it."""
    texts = [*PROBES, "Rain.", "The long road to the old station was closed, so that no guest came to the small inn."]
    places = [3, 0, 5, 2, 4, 1]
    for _, adapted in subject.with_vectors():
        vectors = dense(adapted.encode(texts))
        _near(dense(adapted.encode([texts[place] for place in places])), vectors[places], "in another order")
        _near(np.concatenate([dense(adapted.encode([text])) for text in texts]), vectors, "one by one")


def dropout_off(subject: Subject) -> None:
    """The same texts give the same bytes twice."""
    for data, adapted in subject.fitted():
        _same(observed(adapted, data), observed(adapted, data), f"encoding twice after {data.name}")


def save_and_load(subject: Subject) -> None:
    """What is restored from disk answers with the same bytes."""
    for data, adapted in subject.fitted():
        with tempfile.TemporaryDirectory() as folder:
            adapted.save(Path(folder))
            state = load_state(Path(folder))
        another = type(subject.strategy)(subject.strategy.config)  # as in another process: nothing that fit left there
        restored = another.restore(subject.start, state)
        _same(observed(adapted, data), observed(restored, data), f"the fit on {data.name} and what was restored")
        if restored.similarity != adapted.similarity or restored.provides != adapted.provides:
            raise Failed("what was restored compares vectors in another way, or provides something else")


def vectors_differ(subject: Subject) -> None:
    """Finite, and not the same for all texts."""
    for _, adapted in subject.with_vectors():
        vectors = adapted.encode(PROBES)
        if dense(vectors).dtype != np.float32:
            raise Failed(f"vectors are {dense(vectors).dtype}, not float32")
        try:
            check_vectors(vectors, PROBES)
        except DegenerateError as error:
            if subject.strategy.control:
                raise NotApplicableError(f"a control may be degenerate: {error}") from None
            raise Failed(str(error)) from None


def columns_by_class_name(subject: Subject) -> None:
    """Classes listed the other way round move the columns along, and no answer."""
    data = _separable()
    turned = replace(data, target=ClassTarget(("good", "bad")), fingerprint="turned")
    if Provides.CLASSES not in subject.strategy.provides_on(data.signals):
        raise NotApplicableError("it predicts no classes")
    gold = [row.label for row in data.labelled]
    budget = Budget(epochs=20)  # a head has moved from where it was drawn by then, whatever else its loss is busy with
    answers = []
    for rows in (data, turned):
        adapted = subject.fit(rows, budget=budget)
        target = adapted.heads.get(rows.name)
        logits = adapted.predict(inputs_of(rows), rows.name)
        if target != rows.target or logits.shape != (len(gold), 2):
            raise Failed(f"the head's target is {target} with logits {logits.shape}, not {rows.target}")
        assert isinstance(target, ClassTarget)
        answers.append([target.classes[column] for column in logits.argmax(axis=1)])
    right, turned_right = (np.mean([a == b for a, b in zip(answer, gold, strict=True)]) for answer in answers)
    if abs(right - turned_right) > 0.5 or (not subject.strategy.draws and answers[0] != answers[1]):
        raise Failed(f"{right:.0%} of the answers are right, {turned_right:.0%} with the classes in another order")


def start_unchanged(subject: Subject) -> None:
    """A fit leaves the start's weights, vectors and mode alone."""
    for data, _ in subject.fitted():
        weights, vectors = subject.start_now()
        if weights != subject.weights:
            raise Failed(f"a fit on {data.name} changes the start's weights, which of them are trained, or its mode")
        if vectors != subject.vectors:
            raise Failed(f"a fit on {data.name} changes the start's vectors")


def only_train_rows_read(subject: Subject) -> None:
    """During a fit nothing is tokenised but words of the train set.

    Words and not whole texts: an objective may join texts, or leave words out of them.
    """
    for data, _ in subject.fitted():
        known = set(_WORD.findall(" ".join(texts_of(data))))
        with tokenized() as seen:
            subject.fit(data)
        strange = [word for text in seen for word in _WORD.findall(text) if word not in known]
        if strange:
            raise Failed(f"a fit on {data.name} reads a text that is not in it, with the word {strange[0]!r}")


def mteb_mock_tasks(subject: Subject) -> None:
    """mteb's own mock tasks run over the adaptation."""
    _, adapted = next(subject.with_vectors())
    with mteb_calls():
        import mteb
        from mteb.results.task_result import TaskError

        results = mteb.mock_run(AdaptedForMteb(adapted))
    if results.all_passed:
        return
    found = [(name, str(result.exception)) for name, result in results.items() if isinstance(result, TaskError)]
    if subject.strategy.control:
        raise NotApplicableError(f"a control may be degenerate: {len(found)} tasks do not run, such as {found[0][0]}")
    raise Failed(f"{len(found)} tasks do not run, such as {found[0][0]}: {found[0][1]}"[:300])


CHECKS: tuple[Check, ...] = (
    contract,
    same_seed_same_bytes,
    init_seed,
    order_seed,
    no_global_random_state,
    odd_texts,
    order_kept,
    dropout_off,
    save_and_load,
    vectors_differ,
    columns_by_class_name,
    start_unchanged,
    only_train_rows_read,
    mteb_mock_tasks,
)


def _subset(field: str, found: Any, known: frozenset[Any]) -> None:
    if not isinstance(found, frozenset) or not found <= known:
        raise Failed(f"{field} is {found!r}; it must be a frozenset out of {_listed(known)}")


def _listed(items: Any) -> str:
    return ", ".join(sorted(str(getattr(item, "value", item)) for item in items))


def _same(first: Observed, second: Observed, what: str) -> None:
    if unlike := first.difference(second):
        raise Failed(f"{what} differ in {unlike}")


def _seed_stream(subject: Subject, stream: str) -> None:
    declared = stream in subject.strategy.draws
    differs = False
    for data, _ in subject.fitted():
        # without dev, too: what is best on dev may be where the fit began
        for rows in (data, without_dev(data)):
            fits = [observed(subject.fit(rows, replace(Seeds(), **{stream: seed})), rows) for seed in (0, 1)]
            unlike = fits[0].difference(fits[1])
            differs = differs or bool(unlike)
            if unlike and not declared:
                raise Failed(f"another {stream} seed changes {unlike}; say so in draws")
    if declared and not differs and not _differs_without_files(subject, stream):
        raise Failed(f"draws names {stream}, but another {stream} seed changes nothing; leave it out")


def _differs_without_files(subject: Subject, stream: str) -> bool:
    """Whether the seed matters on a backbone that has nothing beside its weights, such as a head to begin with."""
    source = subject.start.source
    if not isinstance(source, Encoder):
        return False
    bare = Encoder(replace(source.info, folder="none"), source.model, source.tokenizer, source.cache)
    other = Subject(subject.strategy, replace(subject.start, source=bare))
    return any(
        observed(other.fit(data), data).difference(observed(other.fit(data, replace(Seeds(), **{stream: 1})), data))
        for data, _ in other.fitted()
    )


def _encoded(adapted: Adapted, texts: Sequence[str], what: str) -> Any:
    try:
        return dense(adapted.encode(texts))
    except Exception as error:
        raise Failed(f"encode of {what} raises {type(error).__name__}: {' '.join(str(error).split())}") from error


def _near(found: Any, expected: Any, what: str) -> None:
    if found.shape != expected.shape or np.abs(found - expected).max() > _TOLERANCE * max(1.0, np.abs(expected).max()):
        raise Failed(f"texts encoded {what} have other vectors")


def _separable() -> TrainSet:
    """Two classes told apart by one word, in unequal numbers, so that no two classes are equally good a guess."""
    things = ("soup", "film", "inn", "train", "bread", "waiter", "room", "plot", "tea", "view", "bed", "cook")
    rows: list[Labelled] = []
    for number, thing in enumerate(things):
        texts: list[tuple[Input, str]] = [(f"good good good {thing}", "good")]
        if number < 8:
            texts.append((f"bad bad bad {thing}", "bad"))
        rows.extend(Labelled(text, label) for text, label in texts)
    return TrainSet("kit", 1, "listed", ClassTarget(("bad", "good")), labelled=tuple(rows))
