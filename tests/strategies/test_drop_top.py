"""A shallower encoder: what is left of it, what it makes, and that a row of sets takes no more of it."""

import dataclasses

import numpy as np
import pytest
import torch
from small_fits import MOODS, TEXTS, fit, moods, pairs, restored, weights
from transformers import BertConfig, BertModel

from thawbench.contracts import Budget
from thawbench.errors import UserError
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.encoder import Encoder
from thawbench.strategies.randomness import seeded
from thawbench.strategies.trainable import Body

NOTHING = Budget(steps=0)


def size(weights: dict[str, torch.Tensor]) -> int:
    return sum(weight.numel() for weight in weights.values())


def states(adapted: AdaptedEncoder) -> list[np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
    return [each.states for each in adapted.hidden_states(TEXTS)]


def test_untrained_it_reads_the_layer_below_the_one_that_is_gone(tiny: AdaptedEncoder) -> None:
    dropped = fit("drop_top", tiny, budget=NOTHING, k=1)
    assert isinstance(tiny.source, Encoder)
    below = Encoder(dataclasses.replace(tiny.source.info, layer=1), tiny.source.model, tiny.source.tokenizer)

    assert np.allclose(dropped.encode(TEXTS), below.encode(TEXTS), atol=1e-6)
    for shallow, deep in zip(states(dropped), states(tiny), strict=True):
        assert shallow.shape[0] == 2
        assert np.allclose(shallow, deep[:2], atol=1e-6)


def test_layers_that_are_gone_are_not_held_and_not_trained(tiny: AdaptedEncoder) -> None:
    dropped = fit("drop_top", tiny, k=1)
    gone = {name: weight for name, weight in weights(tiny).items() if name.startswith("encoder.layer.1.")}
    assert isinstance(dropped.source, Encoder)

    assert gone
    assert set(weights(dropped)) == set(weights(tiny)) - set(gone)
    assert dropped.source.model.config.num_hidden_layers == dropped.source.info.layer == 1
    assert dropped.source.total_parameters == size(weights(tiny)) - size(gone)
    assert set(dropped.trace[0].gradient_norm) == {"embeddings", "layer.0", "head"}
    assert tiny.source is not None
    assert dropped.source.key != tiny.source.key


def test_another_train_set_in_a_row_takes_no_more_layers(tiny: AdaptedEncoder) -> None:
    once = fit("drop_top", tiny, k=1)
    twice = fit("drop_top", once, pairs(), k=1)

    assert set(weights(twice)) == set(weights(once))
    assert set(twice.heads) == {"moods", "pairs"}
    assert np.array_equal(fit("drop_top", once, k=0).encode(TEXTS), fit("finetune", once).encode(TEXTS))
    with pytest.raises(UserError, match=r"it has 1 layers, so k is 0 to 0"):
        fit("drop_top", once, k=2)


def test_of_a_backbone_that_is_read_below_its_top_all_above_goes_too(tiny: AdaptedEncoder) -> None:
    """One layer of four is gone, and the one above the third, which is read, is not kept for nothing."""
    assert isinstance(tiny.source, Encoder)
    with seeded(0, "test"):
        model = BertModel(BertConfig(**{**tiny.source.model.config.to_dict(), "num_hidden_layers": 4})).train(False)
    third = Encoder(dataclasses.replace(tiny.source.info, layer=3), model, tiny.source.tokenizer)
    body = Body(third).without_top(1)

    assert (body.depth, len(body.layers())) == (2, 2)
    assert (third.info.layer, len(Body(third).layers())) == (3, 4)


def test_the_head_may_change_with_the_layers_and_then_nothing_else_does(tiny: AdaptedEncoder) -> None:
    same, other = (fit("drop_top", tiny, budget=NOTHING, k=1, head=head) for head in ("linear", "relu50"))
    tensors = other.state.tensors

    assert {name: tensor.shape for name, tensor in tensors.items() if name.startswith("head.")} == {
        "head.layers.0.weight": (50, 32),
        "head.layers.0.bias": (50,),
        "head.layers.2.weight": (2, 50),
        "head.layers.2.bias": (2,),
    }
    assert np.array_equal(same.encode(TEXTS), other.encode(TEXTS))
    features = other.encode(TEXTS) / np.linalg.norm(other.encode(TEXTS), axis=1, keepdims=True) * 32**0.5
    hidden = np.maximum(features @ tensors["head.layers.0.weight"].T + tensors["head.layers.0.bias"], 0)
    by_hand = hidden @ tensors["head.layers.2.weight"].T + tensors["head.layers.2.bias"]
    assert np.allclose(other.predict(TEXTS, "moods"), by_hand, atol=1e-5)


def test_a_changed_head_learns_and_comes_back_as_it_was(tiny: AdaptedEncoder) -> None:
    tuned = fit("drop_top", tiny, budget=Budget(epochs=40), k=1, head="relu50", lr=3e-3)
    again = restored("drop_top", tiny, tuned, k=1, head="relu50")

    assert np.array_equal(tuned.predict(TEXTS, "moods"), again.predict(TEXTS, "moods"))
    said = tuned.predict([row.input for row in moods().labelled], "moods").argmax(axis=1)
    assert [MOODS.classes[place] for place in said] == [row.label for row in moods().labelled]
