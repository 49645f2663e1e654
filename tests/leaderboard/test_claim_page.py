"""Claims on a page, on a screen and on the command line."""

import random
import shlex
from pathlib import Path

import pytest
from records_by_hand import make_record
from typer.testing import CliRunner

from thawbench.cli import app
from thawbench.contracts import Seeds
from thawbench.errors import UserError
from thawbench.leaderboard.claim_commands import commands_of
from thawbench.leaderboard.claim_page import in_short, render_claims, screen_table
from thawbench.leaderboard.claim_statement import Claim, Part
from thawbench.leaderboard.claims import judge_all, judge_folder
from thawbench.suite.record_store import RecordStore
from thawbench.suite.records import Record

ROOT = Path(__file__).resolve().parents[2]
TASKS = ("fewshot/a@100", "fewshot/b@100")
WIN = Claim("new_wins", "New beats old.", "Somebody, 2020", (
    Part("difference", "higher", 1.0, TASKS, "new", "old"),
))  # fmt: skip
LOSS = Claim("new_loses", "New is worse than old.", "Somebody, 2021", (
    Part("difference", "lower", 1.0, TASKS, "new", "old"),
))  # fmt: skip
OPEN = Claim("odd", "As a|b\n1e5 *said*, _newest_ beats both.", "Somebody, 2022", (
    Part("difference", "higher", 1.0, TASKS, "newest", "old"),
    Part("difference", "higher", 1.0, TASKS, "newest", "new"),
), note="Not on <b>these</b>.")  # fmt: skip
CLAIMS = (WIN, LOSS, OPEN)


def records(lead: float = 0.2) -> list[Record]:
    return [
        make_record(name, task, value + 0.01 * sign * seed, crossed=Seeds(seed, seed, seed), train=task[8:])
        for name, value, sign in (("new", 0.5 + lead, 1), ("old", 0.5, -1))
        for task in TASKS
        for seed in range(3)
    ]


def test_the_page_has_a_line_and_a_section_for_each_claim() -> None:
    found = records()
    page = render_claims(judge_all(CLAIMS, found), len(found))
    assert "12 records. 3 claims: 1 supported, 1 refuted, 1 undecided." in page
    assert "\n## new_wins: supported\n" in page
    assert "\n## new_loses: refuted\n" in page
    assert "\n## odd: undecided\n" in page
    assert "| new_wins  | supported | 22.00" in page
    assert "Effect 22.00 (95 % " in page
    assert "from 12 cells, 3 seeds." in page


def test_what_a_claim_says_cannot_break_the_page() -> None:
    page = render_claims(judge_all(CLAIMS, records()), 12)
    assert "As a\\|b 1e5 \\*said\\*, \\_newest\\_ beats both." in page
    assert "Note: Not on \\<b>these\\</b>." in page


def test_the_same_records_in_any_order_give_the_same_bytes() -> None:
    found = records()
    expected = render_claims(judge_all(CLAIMS, found), len(found))
    for seed in range(3):
        random.Random(seed).shuffle(found)
        assert render_claims(judge_all(CLAIMS, found), len(found)) == expected


def test_a_screen_has_a_line_for_each_claim_and_for_each_part_of_several() -> None:
    lines = screen_table(judge_all(CLAIMS, records())).splitlines()
    assert [line.split()[0] for line in lines] == ["Claim", "new_wins", "new_loses", "odd", "…", "…", "3"]
    assert max(map(len, lines)) <= 120
    assert lines[4].endswith("missing cells")


def test_strategies_that_lack_the_same_tasks_share_a_command() -> None:
    (nothing,) = judge_all([WIN], [])
    strategies, tasks = "--strategy new --strategy old", "--task fewshot/a@100 --task fewshot/b@100"
    assert commands_of(nothing.parts[0]) == (f"thawbench run {strategies} {tasks} --profile served --seeds 3",)
    partly = judge_all([WIN], [each for each in records() if (each.strategy, each.task) != ("old", TASKS[0])])[0]
    assert commands_of(partly.parts[0]) == (
        "thawbench run --strategy old --task fewshot/a@100 --profile served --seeds 3",
    )


def test_an_undecided_claim_without_gaps_says_which_command_would_decide_it() -> None:
    (found,) = judge_all([WIN], records(0.0))
    needed = found.parts[0].needed
    assert found.outcome == "undecided"
    assert needed is not None
    assert commands_of(found.parts[0])[0].endswith(f"--profile served --seeds {needed}")
    assert f"Undecided: it would take about {needed} seeds to decide it with" in in_short(found)
    assert commands_of(judge_all([WIN], records())[0].parts[0]) == ()


def test_an_effect_without_a_spread_at_its_threshold_asks_for_no_seeds() -> None:
    claim = Claim("c", "x", "y", (Part("difference", "higher", 0.0, TASKS, "new", "old"),))
    alike = [
        make_record(name, task, 0.5 + 0.01 * seed, crossed=Seeds(seed, seed, seed), train=task[8:])
        for name in ("new", "old")
        for task in TASKS
        for seed in range(3)
    ]
    (found,) = judge_all([claim], alike)
    assert "no number of seeds would decide it" in in_short(found)
    assert commands_of(found.parts[0]) == ()


def test_a_metric_that_no_record_of_the_task_has_is_told_with_the_nearest() -> None:
    claim = Claim("c", "x", "y", (Part("difference", "higher", 1.0, TASKS, "new", "old", metric="spaerman"),))
    with pytest.raises(UserError, match="unknown metric of claim c on fewshot/a@100 'spaerman'; did you mean spearman"):
        judge_all([claim], records())
    curve = Claim("c", "x", "y", (Part("trend", "higher", 1.0, TASKS, "new", curve="rsa"),))
    assert judge_all([curve], records())[0].parts[0].cells.aside[0].outcome == "not taken 3 of 3"


def test_records_that_may_not_be_averaged_are_refused() -> None:
    with pytest.raises(UserError, match="mix versions of one task"):
        judge_all(CLAIMS, [*records(), make_record("new", TASKS[0], task_version=2)])
    with pytest.raises(UserError, match="2 backbones of the name embedded"):
        judge_all(CLAIMS, [*records(), make_record("new", "fewshot/c", precision="bfloat16")])


GOOD = """
sentence = "New beats old."
source = "Somebody, 2020"
kind = "difference"
first = "new"
second = "old"
tasks = ["fewshot/a@100", "fewshot/b@100"]
direction = "higher"
smallest = 1
"""


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """A folder of records and one of claims."""
    store = RecordStore(tmp_path / "results")
    for record in records():
        store.write(record)
    (tmp_path / "claims").mkdir()
    (tmp_path / "claims" / "new_wins.toml").write_text(GOOD, encoding="utf-8")
    return tmp_path / "results", tmp_path / "claims"


def test_the_command_prints_writes_and_checks(folders: tuple[Path, Path], tmp_path: Path) -> None:
    results, claims = folders
    page = tmp_path / "CLAIMS.md"
    given = ["claims", "--results", str(results), "--folder", str(claims), "--out", str(page)]
    stale = CliRunner().invoke(app, [*given, "--check"])
    assert stale.exit_code == 1
    command = f"thawbench claims --results {results} --folder {claims} --out {page}"
    assert f"{page} is stale; renew it: {command}" in stale.output
    assert not page.exists()

    written = CliRunner().invoke(app, given)
    assert written.exit_code == 0
    assert "1 claim: 1 supported, 0 refuted, 0 undecided." in written.output
    assert "## new_wins: supported" in page.read_text(encoding="utf-8")
    assert CliRunner().invoke(app, [*given, "--check"]).exit_code == 0


def test_the_command_that_renews_is_what_a_shell_takes(folders: tuple[Path, Path], tmp_path: Path) -> None:
    results, claims = folders
    claims = claims.rename(tmp_path / "my claims")
    given = ["claims", "--results", str(results), "--folder", str(claims), "--out", str(tmp_path / "my page.md")]
    stale = CliRunner().invoke(app, [*given, "--check"])
    assert shlex.split(stale.output.partition("renew it: ")[2]) == ["thawbench", *given]


def test_claims_are_written_as_markdown_alone(folders: tuple[Path, Path], tmp_path: Path) -> None:
    results, claims = folders
    given = ["claims", "--results", str(results), "--folder", str(claims), "--out", str(tmp_path / "c.csv")]
    found = CliRunner().invoke(app, given)
    assert isinstance(found.exception, UserError)
    assert "c.csv does not end in .md" in str(found.exception)
    assert not (tmp_path / "c.csv").exists()


def test_a_folder_without_records_leaves_every_claim_open(folders: tuple[Path, Path], tmp_path: Path) -> None:
    judged = judge_folder(tmp_path / "nothing", folders[1])
    assert (judged.records, [each.outcome for each in judged.verdicts]) == (0, ["undecided"])
    assert judged.notes[0].startswith(f"there are no records in {tmp_path / 'nothing'}; those of the project are in")
    assert not (tmp_path / "nothing").exists()


def test_a_damaged_record_is_told_and_left_out(folders: tuple[Path, Path]) -> None:
    path = next(iter(sorted(folders[0].rglob("*.json"))))
    path.write_text("{", encoding="utf-8")
    judged = judge_folder(*folders)
    assert [note.startswith(f"a damaged record is left out: {path}") for note in judged.notes] == [True]
    assert judged.records == 11


def test_the_claims_page_is_made_from_the_published_records() -> None:
    judged = judge_folder(ROOT / "leaderboard" / "records" / "served")
    assert not judged.page(ROOT / "CLAIMS.md").stale
