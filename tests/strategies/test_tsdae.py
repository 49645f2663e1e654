"""TSDAE beside sentence-transformers, the words it deletes, and what its decoder can see."""

from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.losses import DenoisingAutoEncoderLoss
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from transformers import DistilBertConfig, DistilBertModel

from thawbench.contracts import Seeds
from thawbench.errors import NotApplicableError
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.backbone import quiet_transformers
from thawbench.strategies.encoder import Encoder
from thawbench.strategies.randomness import generator, seeded
from thawbench.strategies.trainable import Body
from thawbench.strategies.tsdae import DenoisingAutoEncoder, Tsdae, TsdaeConfig, without_words
from thawbench.strategies.tsdae_decoder import TiedDecoder
from thawbench.strategies.unlabelled import Text, readable

TEXTS = ["the cat sat on the mat", "a dog ran under the rug", "the film was not good at all", "zebras"]


def objective(start: AdaptedEncoder, config: TsdaeConfig | None = None) -> DenoisingAutoEncoder:
    return Tsdae(config).objective(start, Body.of(start.source).copy(0.0), TEXTS, Seeds())


def row(start: AdaptedEncoder, text: str) -> Text:
    assert isinstance(start.source, Encoder)
    return next(readable(start.source, [text]))


@pytest.mark.parametrize(
    ("words", "left"),
    [(1, 1), (2, 1), (3, 1), (4, 2), (5, 2), (6, 2), (7, 3), (10, 4), (15, 6)],
)
def test_a_ratio_of_point_six_deletes_six_words_of_ten_to_the_nearest_and_never_all(
    tiny: AdaptedEncoder, words: int, left: int
) -> None:
    known = ["cat", "dog", "mat", "rug", "film"]
    text = row(tiny, " ".join(known[place % 5] for place in range(words)))
    kept = without_words(text, 0.6, generator(0, "test"))
    assert len(text.tokens.ids) == words + 2
    assert len(kept) == left + 2
    assert (kept[0], kept[-1]) == (text.tokens.ids[0], text.tokens.ids[-1])
    rest = iter(text.tokens.ids)
    assert all(token in rest for token in kept)  # in their order


def test_over_many_draws_each_word_goes_as_often_as_the_ratio_says(tiny: AdaptedEncoder) -> None:
    text = row(tiny, "cat dog mat rug film")
    rng = generator(0, "test")
    gone = np.zeros(5)
    for _ in range(500):
        kept = without_words(text, 0.6, rng)
        gone += [token not in kept for token in text.tokens.ids[1:-1]]
    assert gone / 500 == pytest.approx(0.6, abs=0.08)


def test_a_word_goes_with_all_its_pieces_and_a_ratio_of_one_leaves_one(tiny: AdaptedEncoder) -> None:
    text = row(tiny, "cat zebras")
    pieces = text.tokens.ids
    assert len(pieces) > 4
    outcomes = {tuple(without_words(text, 1.0, generator(seed, "test"))) for seed in range(20)}
    assert outcomes == {(*pieces[:2], pieces[-1]), (pieces[0], *pieces[2:])}
    assert without_words(text, 0.0, generator(0, "test")) == pieces


def test_the_loss_is_sentence_transformers_on_one_batch(tiny: AdaptedEncoder, tiny_folder: Path) -> None:
    aim = objective(tiny)
    head, decoder = aim.module["mlm_head"], aim.module["decoder"]  # type: ignore[index]
    with quiet_transformers():
        transformer = Transformer(str(tiny_folder))
        model = SentenceTransformer(
            modules=[transformer, Pooling(transformer.get_embedding_dimension(), pooling_mode="cls")], device="cpu"
        )
        theirs = DenoisingAutoEncoderLoss(model).eval()
    own = dict(theirs.decoder.named_parameters())
    with torch.no_grad():
        for name, weight in decoder.own.items():
            own[f"bert.{name}"].copy_(weight)
        own["cls.predictions.transform.dense.weight"].copy_(head.dense.weight)
        own["cls.predictions.transform.dense.bias"].copy_(head.dense.bias)
        # the tied table came from the encoder, and transformers draws nothing for what it finds there
        for name, weight in Body.of(tiny.source).encoder.model.named_parameters():
            if f"bert.{name}" in own:
                assert torch.equal(own[f"bert.{name}"], weight)
        damaged = ["the sat", "a dog under", "good at", "zebras"]
        features = [model.tokenizer(texts, padding=True, return_tensors="pt") for texts in (damaged, TEXTS)]
        expected = theirs([dict(each) for each in features], torch.empty(0)).item()
        aim.module.eval()
        encoder = Body.of(tiny.source).encoder
        found = aim.rebuilding_loss(*([tokens.ids for tokens in encoder.tokenize(texts)] for texts in (damaged, TEXTS)))
    assert found.item() == pytest.approx(expected, rel=1e-5)


def test_the_decoder_sees_of_the_text_its_vector_and_the_words_before(tiny: AdaptedEncoder) -> None:
    assert isinstance(tiny.source, Encoder)
    decoder = TiedDecoder(tiny.source, 0).eval()
    ids = torch.tensor([tiny.source.tokenize([TEXTS[0]])[0].ids])
    sentence = torch.randn(1, 32, generator=torch.Generator().manual_seed(0))
    changed = ids.clone()
    changed[0, 4] = ids[0, 1]
    with torch.inference_mode():
        states, other_word, other_vector = decoder(ids, sentence), decoder(changed, sentence), decoder(ids, -sentence)
    assert torch.allclose(states[:, :4], other_word[:, :4], atol=1e-6)
    assert not torch.allclose(states[:, 4:], other_word[:, 4:], atol=1e-2)
    assert not torch.allclose(states[:, 0], other_vector[:, 0], atol=1e-2)


def test_encoder_and_decoder_are_one_but_for_the_cross_attention(tiny: AdaptedEncoder) -> None:
    assert isinstance(tiny.source, Encoder)
    aim = objective(tiny)
    encoder, decoder = aim.module["encoder"], aim.module["decoder"]  # type: ignore[index]
    shared = dict(encoder.named_parameters())
    assert {name.split(".")[3] for name in decoder.own} == {"crossattention"}
    assert all(weight is shared[name] for name, weight in decoder.body.named_parameters() if name in shared)
    assert [block.name for block in aim.blocks()] == ["embeddings", "layer.0", "layer.1", "decoder", "mlm_head"]
    assert not tiny.source.model.config.is_decoder


def test_the_vector_is_cls_or_what_the_backbone_pools(tiny: AdaptedEncoder) -> None:
    losses = {
        pooling: objective(tiny, TsdaeConfig(pooling=pooling)).loss(np.arange(4), 0).item()
        for pooling in ("cls", "backbone")
    }
    assert losses["cls"] != losses["backbone"]


def test_an_architecture_without_a_decoder_is_not_applicable(tiny: AdaptedEncoder) -> None:
    assert isinstance(tiny.source, Encoder)
    with seeded(0, "test"):
        model = DistilBertModel(DistilBertConfig(vocab_size=100, dim=32, n_layers=1, n_heads=2, hidden_dim=32))
    with pytest.raises(NotApplicableError, match="distilbert, of which there is no decoder"):
        TiedDecoder(Encoder(tiny.source.info, model, tiny.source.tokenizer), 0)


def test_dropout_is_that_of_the_configuration_in_the_decoder_too(tiny: AdaptedEncoder) -> None:
    assert isinstance(tiny.source, Encoder)
    for rate, expected in ((None, {0.1}), (0.0, {0.0}), (0.3, {0.3})):
        layers = [m for m in TiedDecoder(tiny.source, 0, rate).modules() if isinstance(m, torch.nn.Dropout)]
        assert {layer.p for layer in layers} == expected


def test_a_ratio_beyond_one_is_refused() -> None:
    with pytest.raises(ValueError, match="ratio must be in"):
        TsdaeConfig(ratio=1.2)
