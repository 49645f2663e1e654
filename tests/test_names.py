"""The grammar of names: what it takes, what it gives back, and where it points when it refuses."""

import re
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from thawbench.contracts import Seeds
from thawbench.errors import UserError
from thawbench.names import (
    Spec,
    TaskName,
    configure,
    parse_backbone,
    parse_chain,
    parse_seeds,
    parse_strategies,
    parse_task,
    strategy_file,
)

# ---- what is taken --------------------------------------------------------------------------------------------------


def test_a_strategy_alone() -> None:
    assert parse_strategies("frozen") == (Spec("frozen"),)


def test_options_keep_their_order_and_their_text() -> None:
    (spec,) = parse_strategies("frozen_ebm:norm=l2,dim=064")
    assert spec == Spec("frozen_ebm", (("norm", "l2"), ("dim", "064")))
    assert (spec.get("dim"), spec.get("depth")) == ("064", None)


def test_strategies_in_a_row_each_with_options() -> None:
    assert parse_strategies("mlm:lr=1e-4+frozen_ebm:dim=64") == (
        Spec("mlm", (("lr", "1e-4"),)),
        Spec("frozen_ebm", (("dim", "64"),)),
    )


@pytest.mark.parametrize("text", ["frozen", "a:b=c", "mlm+frozen_ebm:dim=64,lr=-1e-5", "soup:of=a/b@c~d"])
def test_a_strategy_is_spelled_as_it_was_given(text: str) -> None:
    assert "+".join(map(str, parse_strategies(text))) == text


@pytest.mark.parametrize(
    ("text", "path", "behind"),
    [
        ("my_idea.py", "my_idea.py", ""),
        (".pyenv/x/my_idea.py:dim=64", ".pyenv/x/my_idea.py", ":dim=64"),
        ("a+b/c.py/my_idea.py+frozen_ebm:dim=64", "a+b/c.py/my_idea.py", "+frozen_ebm:dim=64"),
        ("../first.py+second.py", "../first.py", "+second.py"),
        ("mlm+frozen_ebm", "", "mlm+frozen_ebm"),
        (".py", "", ".py"),
        ("my_idea.pyc", "", "my_idea.pyc"),
    ],
)
def test_a_strategys_file_ends_at_a_py_that_ends_a_name(text: str, path: str, behind: str) -> None:
    assert strategy_file(text) == (path, behind)


def test_an_option_can_be_left_out_of_a_spec() -> None:
    (spec,) = parse_strategies("tfidf:train=nli,svd=64")
    assert str(spec.without("train")) == "tfidf:svd=64"
    assert str(spec.without("train").without("svd")) == "tfidf"
    assert spec.without("no_such") == spec


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("sts/STS12", TaskName("sts", "STS12")),
        ("sts/STS12:train=sst2@1000", TaskName("sts", "STS12", (("train", "sst2@1000"),))),
        ("noise/sst2@100:typos=0.1", TaskName("noise", "sst2@100", (("typos", "0.1"),))),
        ("forgetting/sst2+ag_news+emotion", TaskName("forgetting", "sst2+ag_news+emotion")),
        ("shift/sst2~imdb", TaskName("shift", "sst2~imdb")),
        ("sts/STS12:train=sst2+nli", TaskName("sts", "STS12", (("train", "sst2+nli"),))),
        ("ir/local/cranfield", TaskName("ir", "local/cranfield")),
    ],
)
def test_the_design_s_task_names_are_taken_and_spelled_back(text: str, parsed: TaskName) -> None:
    assert parse_task(text) == parsed
    assert str(parse_task(text)) == text


def test_train_sets_in_a_row() -> None:
    assert parse_chain("sst2@100+corpus/scifact+nli") == ("sst2@100", "corpus/scifact", "nli")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("embedded", "embedded"),
        ("google-bert/bert-base-uncased@main", "google-bert/bert-base-uncased@main"),
        ("./models/my+one", "./models/my+one"),
        ("/abs/folder", "/abs/folder"),
    ],
)
def test_a_backbone_is_a_word_an_id_or_a_folder(text: str, name: str) -> None:
    assert parse_backbone(f"{text}:pooling=cls,layer=-2") == Spec(name, (("pooling", "cls"), ("layer", "-2")))


def test_a_number_of_seeds_counts_all_streams_together() -> None:
    assert parse_seeds("3") == (Seeds(0, 0, 0), Seeds(1, 1, 1), Seeds(2, 2, 2))


def test_ranges_of_seeds_are_crossed_with_the_sample_slowest() -> None:
    assert parse_seeds("order=5-6,sample=0-1") == (Seeds(0, 0, 5), Seeds(0, 0, 6), Seeds(1, 0, 5), Seeds(1, 0, 6))


def test_the_design_s_crossing_has_5_times_3_times_3_seeds() -> None:
    seeds = parse_seeds("sample=0-4,init=0-2,order=0-2")
    assert (len(seeds), len(set(seeds))) == (45, 45)


def test_a_single_seed_may_be_named() -> None:
    assert parse_seeds("init=7") == (Seeds(0, 7, 0),)


# ---- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("", "at its end: »«"),
        ("1frozen", "at character 1: »1«frozen"),
        ("frozen:", "at its end: frozen:»«"),
        ("frozen:dim", "at its end: frozen:dim»«"),
        ("frozen:dim=", "at its end: frozen:dim=»«"),
        ("frozen:=1", "at character 8: frozen:»=«1"),
        ("frozen:dim=1,dim=2", "at character 14: frozen:dim=1,»d«im=2"),
        ("frozen:dim=1;x=2", "at character 13: frozen:dim=1»;«x=2"),
        ("frozen dim", "at character 7: frozen» «dim"),
        ("mlm+", "at its end: mlm+»«"),
        ("mlm++frozen", "at character 5: mlm+»+«frozen"),
        ("frozen:a=$HOME", "at character 10: frozen:a=»$«HOME"),
        ("frozen:a=1:b=2", "at character 11: frozen:a=1»:«b=2"),
        ("frözen", "at character 3: fr»ö«zen"),
    ],
)
def test_a_malformed_strategy_is_marked_where_it_goes_wrong(text: str, where: str) -> None:
    with pytest.raises(UserError, match=re.escape(f"malformed strategy {where} (expected ")):
        parse_strategies(text)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("", "at its end: »«"),
        ("sts", "at its end: sts»«"),
        ("sts/", "at its end: sts/»«"),
        ("/STS12", "at character 1: »/«STS12"),
        ("sts/STS12:train", "at its end: sts/STS12:train»«"),
        ("sts/STS 12", "at character 8: sts/STS» «12"),
        ("sts/*", "at character 5: sts/»*«"),
    ],
)
def test_a_malformed_task_is_marked_where_it_goes_wrong(text: str, where: str) -> None:
    with pytest.raises(UserError, match=re.escape(f"malformed task {where} (expected ")):
        parse_task(text)


@pytest.mark.parametrize(("text", "where"), [("a+", "at its end: a+»«"), ("a b", "at character 2: a» «b")])
def test_a_malformed_chain_is_marked_where_it_goes_wrong(text: str, where: str) -> None:
    with pytest.raises(UserError, match=re.escape(f"malformed train set {where} (expected ")):
        parse_chain(text)


@pytest.mark.parametrize(("text", "where"), [("", "at its end: »«"), ("em bed", "at character 3: em» «bed")])
def test_a_malformed_backbone_is_marked_where_it_goes_wrong(text: str, where: str) -> None:
    with pytest.raises(UserError, match=re.escape(f"malformed backbone {where} (expected ")):
        parse_backbone(text)


def test_a_misspelt_stream_of_seeds_is_told_the_nearest() -> None:
    with pytest.raises(UserError, match=r"init=0,»s«maple=1 \(.* at most once; did you mean sample\?\)"):
        parse_seeds("init=0,smaple=1")


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("0", "at character 1: »0« (expected at least 1 seed)"),
        ("", "at its end: »« (expected a number"),
        ("-1", "at character 1: »-«1"),
        ("1.5", "at character 1: »1«.5"),
        ("sample", "at its end: sample»« (expected '=' after 'sample')"),
        ("sample=", "at its end: sample=»«"),
        ("sample=3-1", "at character 8: sample=»3«-1 (expected a range such as 0-4, from low to high)"),
        ("sample=1-", "at character 8: sample=»1«- (expected a range"),
        ("sample=1,sample=2", "at character 10: sample=1,»s«ample=2 (expected each of sample, init and order"),
        ("colour=1", "at character 1: »c«olour=1 (expected each of sample, init and order at most once)"),
        ("init=1 ", "at character 7: init=1» « (expected ',' or the end)"),
    ],
)
def test_malformed_seeds_are_marked_where_they_go_wrong(text: str, where: str) -> None:
    with pytest.raises(UserError, match=re.escape(f"malformed seeds {where}")):
        parse_seeds(text)


# ---- configurations -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Config:
    dim: int = 64
    lr: float = 1e-3
    norm: Literal["l1", "l2"] = "l1"
    bias: bool = True
    svd: int | None = None
    note: str = ""

    def __post_init__(self) -> None:
        if self.dim < 1:
            raise ValueError(f"dim is {self.dim}, and must be at least 1")


def configured(text: str) -> Config:
    (spec,) = parse_strategies(text)
    return configure(Config, spec, "strategy")


def test_a_bare_name_gives_the_defaults() -> None:
    assert configured("x") == Config()


def test_each_option_becomes_its_field_s_type() -> None:
    found = configured("x:dim=8,lr=2e-5,norm=l2,bias=false,svd=16,note=a.b")
    assert found == Config(8, 2e-5, "l2", False, 16, "a.b")
    assert (type(found.dim), type(found.lr), type(found.bias)) == (int, float, bool)


def test_none_is_taken_where_a_field_may_be_none() -> None:
    assert configured("x:svd=none").svd is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x:dmi=8", "unknown option of strategy x 'dmi'; did you mean dim?"),
        ("x:dim=8.5", "strategy x: dim=8.5 is not a whole number"),
        ("x:dim=none", "strategy x: dim=none is not a whole number"),
        ("x:lr=fast", "strategy x: lr=fast is not a number"),
        ("x:norm=l3", "strategy x: norm=l3 is not one of l1, l2"),
        ("x:bias=1", "strategy x: bias=1 is not true or false"),
        ("x:svd=few", "strategy x: svd=few is not a whole number"),
        ("x:dim=0", "strategy x:dim=0: dim is 0, and must be at least 1"),
    ],
)
def test_a_wrong_option_is_answered_in_one_line(text: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        configured(text)
    assert str(caught.value) == message


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e999"])
def test_a_number_that_is_not_finite_is_no_option(value: str) -> None:
    with pytest.raises(UserError, match=f"lr={value} is not a number"):
        configured(f"x:lr={value}")


def test_every_example_of_the_module_s_own_text_is_taken() -> None:
    examples: list[tuple[Any, str]] = [
        (parse_strategies, "frozen_ebm:norm=l2,dim=64"),
        (parse_task, "sts/STS12:train=nli"),
        (parse_chain, "sst2+ag_news"),
        (parse_backbone, "embedded:pooling=cls,layer=4"),
        (parse_seeds, "sample=0-4,init=0-2,order=0"),
    ]
    assert all(parse(text) for parse, text in examples)
