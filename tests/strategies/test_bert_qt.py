"""Quick-Thoughts over frozen states: its batches, its masking, and that it learns order from documents."""

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from thawbench.contracts import Adapted, Budget, Seeds, Strategy, TrainSet
from thawbench.errors import NotApplicableError
from thawbench.strategies.adapted import AdaptedEncoder, load_state
from thawbench.strategies.bert_qt import BertQt, BertQtConfig, ConsecutiveSentences
from thawbench.strategies.encoder import Encoder
from thawbench.strategies.quick_thoughts import QuickThoughtsSource, neighbours, two_readers
from thawbench.strategies.randomness import generator, seeded
from thawbench.strategies.trainable import Body
from thawbench.strategies.training import train
from thawbench.strategies.unlabelled import Text, readable
from thawbench.strategies.word_hiding import WordHiding

TEXTS = ("the cat sat on the mat", "a dog ran", "the film was not good at all")
TOPICS = ("cat", "dog", "mat", "rug", "film", "plot", "wing", "flow")
SAYINGS = ("the {} sat", "what {} is not good", "a {} was bad", "who ran under the {}", "on the {}")
CONFIG = BertQtConfig(steps=3, batch_size=8, dim=16)


@pytest.fixture(scope="module")
def stories() -> TrainSet:
    """Documents that say the same in one order, each time of other things."""
    rng = generator(0, "stories")
    documents = [tuple(saying.format(rng.choice(TOPICS)) for saying in SAYINGS) for _ in range(40)]
    return TrainSet("stories", 1, "", documents=tuple(documents))


def no_adapt(strategy: Strategy, seeds: Seeds) -> Adapted:
    raise AssertionError("bert_qt asks for no other adaptation")


def fit(start: AdaptedEncoder, data: TrainSet, config: BertQtConfig = CONFIG, **options: Any) -> AdaptedEncoder:
    given = {"seeds": Seeds(), "budget": Budget(), **options}
    return BertQt(config).fit(start, data, adapt=no_adapt, **given)


def objective(start: AdaptedEncoder, documents: Any, config: BertQtConfig = CONFIG) -> ConsecutiveSentences:
    with seeded(0, "test"):
        readers = two_readers(config.reader, 32, config.dim)
    return ConsecutiveSentences(Body.of(start.source).encoder, readers, documents, config, 0)


def test_dropout_has_nothing_to_act_on_and_is_refused() -> None:
    with pytest.raises(ValueError, match="dropout has no layer to act on"):
        BertQtConfig(dropout=0.1)


def test_dev_is_read_in_the_precision_of_training(
    tiny: AdaptedEncoder, stories: TrainSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = copy.copy(Body.of(tiny.source).encoder)
    encoder.info = replace(encoder.info, precision="bfloat16")
    with seeded(0, "test"):
        aim = ConsecutiveSentences(encoder, two_readers("gru", 32, 16), stories.documents, CONFIG, 0)
    seen = []
    states = Encoder.token_states

    def noted(asked: Encoder, ids: Any) -> Any:
        seen.append(torch.is_autocast_enabled("cpu"))
        return states(asked, ids)

    monkeypatch.setattr(Encoder, "token_states", noted)
    aim.dev_score()
    assert seen
    assert all(seen)


@pytest.mark.parametrize(("reader", "self_score"), [("gru", "zero"), ("linear", "exclude")])
def test_training_lowers_the_loss_on_documents_held_out(
    tiny: AdaptedEncoder, stories: TrainSet, reader: Any, self_score: Any
) -> None:
    config = BertQtConfig(steps=25, batch_size=16, dim=100, lr=1e-2, reader=reader, self_score=self_score)
    aim = objective(tiny, stories.documents, config)
    before = aim.dev_score()
    train(aim, config.schedule(1.0, Budget(), 1), seed=0, info=Body.of(tiny.source).encoder.info)
    after = aim.dev_score()
    assert before is not None
    assert after is not None
    assert -after < 0.75 * -before


def test_a_batch_is_a_stretch_of_sentences_whose_documents_are_whole_or_cut_at_its_ends(tiny: AdaptedEncoder) -> None:
    documents = [[f"{text} {word}" for text in TEXTS] for word in ("cat", "dog", "mat", "rug")]
    documents += [["alone"], ["the cat", ""]]
    aim = objective(tiny, documents, BertQtConfig(batch_size=4, dim=16))
    batches = aim.batches(0)
    assert [len(batch) for batch in batches] == [4, 4, 4]
    stream = np.concatenate(batches)
    assert sorted(stream.tolist()) == list(range(12))
    assert all((stream[start : start + 3] == stream[start] + np.arange(3)).all() for start in range(0, 12, 3))
    assert not np.array_equal(stream, np.concatenate(aim.batches(1)))
    beside = neighbours(batches[0], aim._document[batches[0]])
    assert beside.any(axis=1).tolist() == [True, True, True, False]


def test_masking_reads_words_of_its_kind_as_masks_in_f_alone(tiny: AdaptedEncoder) -> None:
    assert isinstance(tiny.source, Encoder)
    mask = tiny.source.tokenizer.mask_token_id
    assert mask is not None
    (row,) = readable(tiny.source, ["the zebras sat on the mat , not under it"])

    def hidden(which: Any, rate: float) -> set[str]:
        found = set()
        for seed in range(40):
            ids = WordHiding(which, rate, mask)(row, generator(seed, "test"))
            assert len(ids) == len(row.tokens.ids)
            places = [place for place, token in enumerate(ids) if token == mask]
            found |= {row.text[slice(*row.tokens.offsets[place])] for place in places}
        return found

    assert hidden("none", 0.5) == set()
    assert hidden("content_words", 0.1) == {"mat", "sat", *"zebras"}
    assert {"the", "on", ",", "not"} < hidden("random", 0.1)
    one = WordHiding("content_words", 0.1, mask)(row, generator(0, "test"))
    assert len({token for token, before in zip(one, row.tokens.ids, strict=True) if token != before}) == 1

    documents = [TEXTS, TEXTS[::-1]]
    batch = np.arange(6)
    losses = {}
    for masking in ("none", "random", "content_words"):
        aim = objective(tiny, documents, BertQtConfig(batch_size=6, dim=16, masking=masking))
        losses[masking] = [aim.loss(batch, step).item() for step in (0, 1)]
    assert losses["none"][0] == losses["none"][1]
    assert losses["random"][0] != losses["random"][1]
    assert len({losses[masking][0] for masking in losses}) == 3


def test_what_cannot_be_hidden_is_left() -> None:
    class NoTokens:
        ids = (1, 2)
        offsets = ((0, 0), (0, 0))

    row = Text("", NoTokens())  # type: ignore[arg-type]
    assert list(WordHiding("random", 0.5, 9)(row, generator(0, "test"))) == [1, 2]


def test_vectors_are_twice_dim_wide_the_encoder_stays_frozen_and_all_comes_back(
    tiny: AdaptedEncoder, stories: TrainSet, tmp_path: Path
) -> None:
    before = tiny.encode(TEXTS)
    adapted = fit(tiny, stories)
    vectors = adapted.encode(TEXTS)
    assert vectors.shape == (3, 32)
    assert np.array_equal(tiny.encode(TEXTS), before)
    assert {name.partition(".")[0] for name in adapted.state.tensors} == {"f", "g"}
    held = sum(tensor.size for tensor in adapted.state.tensors.values())
    assert adapted.state.cost.trainable_parameters == held
    assert isinstance(tiny.source, Encoder)
    assert adapted.state.cost.total_parameters == held + tiny.source.total_parameters
    adapted.save(tmp_path)
    assert np.array_equal(BertQt(CONFIG).restore(tiny, load_state(tmp_path)).encode(TEXTS), vectors)


def test_init_draws_the_readers_and_order_the_batches(tiny: AdaptedEncoder, stories: TrainSet) -> None:
    vectors = fit(tiny, stories).encode(TEXTS)
    assert np.array_equal(fit(tiny, stories).encode(TEXTS), vectors)
    for stream in ("init", "order"):
        assert not np.array_equal(fit(tiny, stories, seeds=Seeds(**{stream: 1})).encode(TEXTS), vectors)


def test_no_later_step_takes_it_for_an_encoder_to_tune(tiny: AdaptedEncoder, stories: TrainSet) -> None:
    adapted = fit(tiny, stories, budget=Budget(steps=0))
    assert isinstance(adapted.source, QuickThoughtsSource)
    with pytest.raises(NotApplicableError, match="only an encoder's weights"):
        Body.of(adapted.source)


def test_what_has_no_documents_of_two_sentences_is_not_applicable(tiny: AdaptedEncoder) -> None:
    with pytest.raises(NotApplicableError, match="pool has no documents"):
        fit(tiny, TrainSet("pool", 1, "", texts=TEXTS))
    with pytest.raises(NotApplicableError, match="no document has two sentences"):
        fit(tiny, TrainSet("pool", 1, "", documents=(("the cat",), ("", "a dog"))))


@pytest.mark.parametrize("wrong", [{"dim": 5}, {"dim": 0}, {"mask_rate": 0.0}, {"batch_size": 1}])
def test_a_config_that_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        BertQtConfig(**wrong)
