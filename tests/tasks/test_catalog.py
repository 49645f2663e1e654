"""Tasks by name, and the lines that a wrong name or an absent Hub gives."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from thawbench.contracts import Provides
from thawbench.errors import UserError
from thawbench.names import parse_task
from thawbench.tasks.catalog import known_tasks, resolve_task


@pytest.mark.parametrize(
    ("given", "name", "revision"),
    [
        ("sts/STS12:train=nli", "sts/STS12", "a0d554a64d88156834ff5ae9920b964011b16384"),
        ("sts/stsbenchmark", "sts/STSBenchmark", "b0fddb56ed78048fa8b90373c8a3cfc37b684831"),
        ("ir/scifact", "ir/SciFact", "d56462d0e63a25450459c4f213e49ffdb866f7f9"),
        ("ir/NPL", "ir/npl", "main"),
        (
            "classify/Banking77Classification",
            "classify/Banking77Classification",
            "0fd18e25b25c072e09e0d92ab615fda904d66300",
        ),
    ],
)
def test_a_task_is_found_by_name_and_pinned(given: str, name: str, revision: str) -> None:
    task = resolve_task(given)
    assert (task.name, task.revision) == (name, revision)
    assert task.train == ("nli",)
    assert task.needs is Provides.VECTORS
    assert task.corpus == (f"corpus/{name[3:].lower()}" if task.family == "ir" else None)


def test_a_parsed_name_is_taken_too() -> None:
    assert resolve_task(parse_task("sts/STS12")).name == "sts/STS12"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("sts/STSBnchmark", "did you mean .*STSBenchmark"),
        ("ir/cranfeld", "did you mean cranfield"),
        ("sts/SciFact", "of type Retrieval; sts takes those of type STS"),
        ("ir/CQADupstackRetrieval", "only joins other tasks; name those: ir/CQADupstackAndroidRetrieval"),
        ("sts/STS12:layer=3", "unknown option of task sts/STS12 'layer'; known: train"),
        ("sts/STS12:trian=nli", "unknown option of task sts/STS12 'trian'; did you mean train?"),
        ("noise/sst2@20:typo=0.1", "unknown option of task noise/sst2@20 'typo'; did you mean typos or train_typos?"),
        ("stss/STS12", "did you mean sts"),
    ],
)
def test_a_wrong_name_is_told_in_one_line(name: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        resolve_task(name)
    assert "\n" not in str(caught.value)


def test_every_family_lists_what_is_worth_listing() -> None:
    assert {"sts/STSBenchmark", "ir/cranfield", "classify/Banking77Classification"} <= set(known_tasks())


def run(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **variables}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)


def test_importing_every_task_module_imports_nothing_heavy() -> None:
    done = run(
        "import sys, json; from thawbench.tasks.catalog import known_tasks; known_tasks();"
        "import thawbench.tasks.trainsets;"
        "print(json.dumps([name for name in ('mteb', 'datasets', 'torch', 'sklearn') if name in sys.modules]))"
    )
    assert json.loads(done.stdout) == []


@pytest.mark.parametrize(
    ("ask", "data"),
    [
        ("catalog import resolve_task; resolve_task('ir/cranfield').load()", "local/cranfield"),
        ("trainsets import trainset_info; trainset_info('nli')", "nyu-mll/glue mnli train"),
    ],
)
def test_without_a_hub_one_line_says_what_is_missing_and_what_to_do(ask: str, data: str, tmp_path: Path) -> None:
    done = run(f"from thawbench.tasks.{ask}", HF_HUB_OFFLINE="1", HF_HOME=str(tmp_path / "home"))
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("thawbench.errors.DataUnavailableError: cannot fetch")
    for part in (data, "HF_HUB_OFFLINE", "HF_ENDPOINT", "while online"):
        assert part in last
