"""Claims as files: what a stranger may write, and what is said of a slip."""

from pathlib import Path

import pytest

from thawbench.errors import UserError
from thawbench.leaderboard.claim_statement import Claim, data_set, read_claim, read_claims, size
from thawbench.suite.claim_check import check_names

GOOD = """
sentence = "A is better than B."
source = "Somebody, 2020"
kind = "difference"
first = "frozen_ebm"
second = "frozen"
tasks = ["fewshot/sst2@20", "fewshot/rte@100"]
direction = "higher"
smallest = 1
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "a_is_better.toml"
    path.write_text(text, encoding="utf-8")
    return path


def claim(folder: Path, text: str) -> Claim:
    return read_claim(written(folder, text))


def test_a_claim_is_what_its_file_says(tmp_path: Path) -> None:
    found = claim(tmp_path, GOOD)
    (part,) = found.parts
    assert (found.id, found.sentence, found.note) == ("a_is_better", "A is better than B.", "")
    assert (part.first, part.second, part.smallest, part.seeds, part.backbone) == (
        "frozen_ebm", "frozen", 1.0, 3, "embedded",
    )  # fmt: skip
    assert part.cells == (
        ("frozen_ebm", "fewshot/sst2@20"),
        ("frozen_ebm", "fewshot/rte@100"),
        ("frozen", "fewshot/sst2@20"),
        ("frozen", "fewshot/rte@100"),
    )


def test_parts_have_what_stands_above_them_unless_they_say_otherwise(tmp_path: Path) -> None:
    found = claim(tmp_path, GOOD + '[[part]]\n[[part]]\nkind = "spread"\nsmallest = 0\ndirection = "lower"\n')
    assert [(part.kind, part.smallest, part.seeds, part.first) for part in found.parts] == [
        ("difference", 1.0, 3, "frozen_ebm"),
        ("spread", 0.0, 5, "frozen_ebm"),
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("smallest = 1", ""), "claim a_is_better.toml has no 'smallest'"),
        (("sentence", "sentense"), "claim a_is_better.toml has no 'sentence'"),
        (("smallest = 1", "smalest = 1"), "unknown key of claim a_is_better.toml 'smalest'; did you mean smallest"),
        (("difference", "diference"), "unknown kind of claim a_is_better.toml 'diference'; did you mean difference"),
        (("higher", "up"), "unknown direction of claim a_is_better.toml 'up'; known: higher, lower"),
        (("smallest = 1", "smallest = true"), "'smallest' must be a number, and is True"),
        (("smallest = 1", "smallest = nan"), "smallest = nan is no number to be beyond"),
        (("smallest = 1", "smallest = 1\nseeds = 2"), "seeds = 2; the kind difference needs 3 at least"),
        (("smallest = 1", "smallest = 1\nseeds = 2.5"), "'seeds' must be a whole number, and is 2.5"),
        (("smallest = 1", "smallest = 1\nk = 3"), "the kind difference takes no 'k'; it takes kind, direction"),
        (('second = "frozen"', ""), "the kind difference needs 'second'"),
        (('second = "frozen"', 'second = "frozen_ebm"'), "compares frozen_ebm with itself on the same tasks"),
        (('"fewshot/rte@100"', '"fewshot/sst2@100"'), "reads sst2 alone; a claim reads 2 data sets at least"),
        (('"fewshot/rte@100"', '"fewshot/sst2@20"'), "tasks names one task twice"),
        (('"fewshot/rte@100"', '"rte@100"'), "malformed task"),
        (('first = "frozen_ebm"', 'first = "frozen ebm"'), "malformed strategy at character 7"),
        (("[\"fewshot/sst2@20\", \"fewshot/rte@100\"]", '"sst2"'), "'tasks' must be a list of different names"),
        (("smallest = 1", 'smallest = 1\nsecond_tasks = ["sts/STS12"]'), "2 of one and 1 of the other"),
        (('kind = "difference"', 'kind = "trend"'), "needs two n of a set at least, and fewshot/sst2 has one"),
        (('kind = "difference"', 'kind = "best_of"\nk = 1'), "k = 1; a best is one of 2 runs at least"),
        (("smallest = 1", "smallest = 1\npart = 3"), "a part is written as a table of its own"),
        (("smallest = 1", "smallest = "), "cannot be read"),
    ],
)  # fmt: skip
def test_a_slip_is_told_in_one_line(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    with pytest.raises(UserError) as caught:
        claim(tmp_path, GOOD.replace(*change, 1))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_few_strategies_make_no_correlation(tmp_path: Path) -> None:
    text = GOOD.replace("difference", "correlation").replace('first = "frozen_ebm"', "").replace(
        'second = "frozen"', 'strategies = ["frozen", "tfidf", "frozen"]\nsecond_tasks = ["ir/a", "ir/b"]'
    )  # fmt: skip
    with pytest.raises(UserError, match="a correlation over 2 strategies says nothing; name 7 at least"):
        claim(tmp_path, text)


@pytest.mark.parametrize(
    ("task", "set_", "n"),
    [
        ("fewshot/sst2@20", "sst2", 20),
        ("shift/sst2@100~imdb", "sst2~imdb", None),
        ("forgetting/a@100+b@20", "a+b", 20),
        ("geometry/corpus/cranfield:train=sst2@100", "corpus/cranfield", None),
        ("sts/STS12", "STS12", None),
    ],
)
def test_a_data_set_is_a_task_without_family_options_and_n(task: str, set_: str, n: int | None) -> None:
    assert (data_set(task), size(task)) == (set_, n)


def test_the_claims_of_the_project_can_be_read_and_name_what_exists() -> None:
    claims = read_claims()
    check_names(claims, [])
    assert len(claims) >= 20
    assert len({claim.sentence for claim in claims}) == len(claims)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("frozen_ebm", "frozen_emb"), "claim a_is_better: unknown strategy 'frozen_emb'; did you mean frozen_ebm"),
        (('"frozen_ebm"', '"frozen_ebm:nrom=l2"'), "unknown option of strategy frozen_ebm 'nrom'; did you mean norm"),
        (("sst2@20", "sst3@20"), "claim a_is_better: unknown labelled set 'sst3'; did you mean sst5 or sst2"),
        (("fewshot/rte", "fewshots/rte"), "unknown task family 'fewshots'; did you mean fewshot"),
        (("rte@100", "rte@100:train=sst3@20"), "unknown train set 'sst3'; did you mean sst5 or sst2"),
        (("fewshot/rte@100", "noise/rte@100:typos=0.20"), "is spelled noise/rte@100:typos=0.2 in records"),
    ],
)
def test_names_that_do_not_exist_are_told_with_the_nearest(
    tmp_path: Path, change: tuple[str, str], message: str
) -> None:
    with pytest.raises(UserError) as caught:
        check_names([claim(tmp_path, GOOD.replace(*change, 1))], [])
    assert message in str(caught.value)


def test_a_folder_without_claims_says_how_to_add_one(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"there are no claims in .*CONTRIBUTING"):
        read_claims(tmp_path)
