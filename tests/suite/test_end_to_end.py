"""Whole commands in processes of their own, on the embedded world: resumed, killed, run twice at once, mistaken."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SUITE = Path(__file__).resolve().parents[2] / "suite"
TASKS = ("sts/world", "ir/world", "fewshot/world/meals@20")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """No Hub, and one cache for all of these commands."""
    cache = tmp_path_factory.mktemp("cache")
    values = {**os.environ, "HF_HUB_OFFLINE": "1", "THAWBENCH_CACHE": str(cache), "OMP_NUM_THREADS": "1"}
    values.pop("HF_ENDPOINT", None)
    return values


class Commands:
    """Runs `thawbench run` or `pytest suite/` with the tiny encoder in one folder."""

    def __init__(self, folder: Path, backbone: Path, environment: dict[str, str]) -> None:
        self.folder = folder
        self._backbone = backbone
        self._environment = environment

    def line(self, face: str, *options: str) -> list[str]:
        start = (
            ["-m", "pytest", "-q", str(SUITE)] if face == "pytest" else ["-c", "from thawbench.cli import main; main()"]
        )
        return [sys.executable, *start, *(("run",) if face == "run" else ()), *options]

    def asked(self, *strategies: str) -> list[str]:
        chosen = [f"--strategy={strategy}" for strategy in strategies] + [f"--task={task}" for task in TASKS]
        return [*chosen, f"--backbone={self._backbone}", "--seeds=2", "--threads=1"]

    def run(self, face: str, *options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.line(face, *options), cwd=self.folder, env=self._environment, capture_output=True, text=True
        )

    def start(self, face: str, *options: str) -> subprocess.Popen[bytes]:
        quiet = subprocess.DEVNULL
        return subprocess.Popen(
            self.line(face, *options), cwd=self.folder, env=self._environment, stdout=quiet, stderr=quiet
        )

    def records(self, results: str = "results") -> dict[str, dict[str, object]]:
        files = sorted((self.folder / results / "records").glob("??/*.json"))
        return {file.stem: json.loads(file.read_text()) for file in files}

    def scores(self, results: str = "results") -> dict[str, object]:
        return {key: record["metrics"] for key, record in self.records(results).items()}


@pytest.fixture
def commands(tmp_path: Path, tiny_folder: Path, environment: dict[str, str]) -> Commands:
    """In a folder of the test's own."""
    return Commands(tmp_path, tiny_folder, environment)


def test_pytest_and_the_command_line_give_the_same_scores_and_the_second_run_does_nothing(commands: Commands) -> None:
    asked = commands.asked("frozen", "frozen_ebm")
    first = commands.run("pytest", *asked)
    other = commands.run("run", *asked, "--results=other")
    second = commands.run("pytest", *asked)

    assert first.returncode == other.returncode == second.returncode == 0, first.stdout + other.stdout
    assert commands.scores() == commands.scores("other")
    assert len(commands.scores()) == (1 + 1 + 2) + 2 * 3  # frozen draws a seed only where a read-out needs rows
    assert re.search(r"\d+ cells, (\d+) cached, 0 adaptations fitted", second.stdout)
    assert "passed" not in second.stdout.splitlines()[-1]


def test_a_killed_run_loses_at_most_the_cell_in_flight(commands: Commands) -> None:
    asked = commands.asked("frozen", "frozen_ebm", "untrained")
    process = commands.start("run", *asked)
    deadline = time.monotonic() + 120
    while len(list(commands.folder.glob("results/records/??/*.json"))) < 3 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = commands.records()
    again = commands.run("run", *asked)
    after = commands.records()

    assert len(before) >= 3
    assert again.returncode == 0, again.stdout
    assert f"{len(after)} cells, {len(before)} cached" in again.stdout
    assert {key: after[key]["started"] for key in before} == {key: before[key]["started"] for key in before}


def test_two_runs_at_once_lose_nothing(commands: Commands) -> None:
    asked = commands.asked("frozen", "frozen_ebm")
    processes = [commands.start(face, *asked) for face in ("run", "pytest")]
    codes = [process.wait(timeout=300) for process in processes]
    alone = commands.run("run", *asked, "--results=alone")

    assert codes == [0, 0]
    assert alone.returncode == 0
    assert commands.scores() == commands.scores("alone")
    assert all(record["status"] == "ok" for record in commands.records().values())
    assert not list(commands.folder.glob("results/**/*.tmp"))
    assert not list(commands.folder.glob("results/**/*.damaged*"))


def test_two_workers_share_the_strategies_and_tell_the_same(commands: Commands) -> None:
    asked = [*commands.asked("frozen_ebm", "bitfit"), "--steps=3"]
    shared = commands.run("pytest", "-n2", *asked)
    alone = commands.run("run", *asked, "--results=alone")

    assert shared.returncode == alone.returncode == 0, shared.stdout
    assert commands.scores() == commands.scores("alone")
    told = [re.search(r"(\d+) cells, 0 cached, \d+ adaptations fitted", each.stdout) for each in (shared, alone)]
    assert told[0] is not None
    assert told[1] is not None
    assert told[0][0] == told[1][0]
    assert not list(commands.folder.glob("results/adaptations/**/*.safetensors"))


@pytest.mark.parametrize(
    ("face", "options", "told"),
    [
        ("run", ["--strategy=frozn"], "unknown strategy 'frozn'; did you mean frozen"),
        ("pytest", ["--strategy=frozn"], "unknown strategy 'frozn'; did you mean frozen"),
        ("run", ["--task=sts/wrold", "--strategy=frozen"], "did you mean world"),
        ("run", ["--task=fewshot/world/meal@20", "--strategy=frozen"], "did you mean world/meals"),
        ("run", ["--profile=mni"], "unknown profile 'mni'; did you mean mini"),
        ("run", ["--backbone=embeded", "--strategy=frozen"], "did you mean embedded"),
        ("run", ["--task=sts/world:train=world/nil", "--strategy=frozen_ebm"], "did you mean world/nli"),
        ("pytest", ["--strategy=frozen_ebm:norm="], "malformed strategy at its end"),
        ("run", ["--strategy=nothing.py"], "the strategy file nothing.py cannot be read"),
        ("run", ["--results=/proc/nowhere", "--strategy=frozen", "--task=sts/world"], "cannot be written to"),
        ("run", ["--steps=many"], "--steps many is not a whole number above 0"),
        ("pytest", ["--precision=bfloat"], "unknown precision 'bfloat'; did you mean bfloat16"),
        ("run", ["--strategy=frozen", "--task=sts/BIOSSES"], "mteb/biosses-sts"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_is_one_line_and_exit_code_2(commands: Commands, face: str, options: list[str], told: str) -> None:
    done = commands.run(face, *options)
    lines = [line for line in (done.stdout + done.stderr).splitlines() if told in line]

    assert done.returncode == 2, done.stdout + done.stderr
    assert lines
    assert "Traceback" not in done.stdout + done.stderr
