"""docs/strategies.md is what the code says, and the code says of each strategy what it is and where it comes from."""

import pytest

from thawbench.suite.pinned_scores import read_pins, shares
from thawbench.suite.strategy_page import COMMAND, PAGE, built_in, page, searched, sources, what_it_is

OF_NO_PAPER = {
    "constant",
    "contrastive_kl",
    "finetune",
    "frozen",
    "frozen_mlp",
    "hierarchical_coarse",
    "inbatch_ce",
    "majority",
    "random_vectors",
    "tfidf",
    "untrained",
}
"""Controls, plain practice, and what the diary and the slides of this project's beginnings have."""


def test_the_page_is_as_the_code_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(shares(read_pins())), f"run `{COMMAND}`"


@pytest.mark.parametrize("name", built_in())
def test_every_strategy_says_what_it_is_and_where_it_comes_from(name: str) -> None:
    assert len(what_it_is(name).split()) > 2, "the module's docstring must begin with what the strategy is"
    if name not in OF_NO_PAPER:
        assert sources(name), 'cite in a docstring of the module: Authors, "Title", Venue year (or list it above)'


def test_a_citation_is_taken_whole_and_from_the_class_before_the_module() -> None:
    assert sources("lora") == ('Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models", ICLR 2022',)
    assert len(sources("llrd")) == 2
    assert sources("mlm") == ('Devlin et al., "BERT", NAACL 2019',)
    assert sources("frozen") == ()


def test_what_was_searched_is_told_with_its_trials_and_whose_they_are() -> None:
    assert [searched(name) for name in ("lp_ft", "scl", "soup", "frozen", "majority")] == [
        "lr, 24 trials",
        "lr, 24 trials of `finetune`",
        "lr, 24 trials of `finetune`",
        "",
        "",
    ]


def test_each_built_in_has_its_row_and_a_bar_does_not_break_it() -> None:
    lines = page({"lora": 0.01234}).splitlines()
    rows = {line.split("`")[1]: line for line in lines if line.startswith("| `")}

    assert tuple(rows) == built_in()
    assert "| 1.2 % |" in rows["lora"]
    assert lines[-1].endswith("`mlm_frozen_ebm_thaw` is `mlm+frozen_ebm+ebm:epochs=1`.")
    assert all(row.replace("\\|", "").count("|") == 8 for row in rows.values())
