from thawbench.strategies.adapted import AdaptedEncoder


def test_tiny_gives_a_vector_per_text(tiny: AdaptedEncoder) -> None:
    assert tiny.encode(["the cat sat", ""]).shape == (2, 32)


def test_embedded_gives_a_vector_per_text(embedded: AdaptedEncoder) -> None:
    assert embedded.encode(["the cat sat", ""]).shape == (2, 384)
