"""Claims as tests: supported ones pass, refuted ones are expected failures, open ones are skipped with a reason."""

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from thawbench.leaderboard.claims import judge_folder

ROOT = Path(__file__).resolve().parents[2]
RECORDS = ROOT / "leaderboard" / "records" / "served"


@pytest.mark.slow
def test_every_claim_is_a_test_and_nothing_is_run(tmp_path: Path) -> None:
    line = [sys.executable, "-m", "pytest", str(ROOT / "suite"), "-q", "-m", "claims", f"--results={RECORDS}"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    told = subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, text=True)

    expected = Counter(verdict.outcome for verdict in judge_folder(RECORDS).verdicts)
    counts = {word: int(count) for count, word in re.findall(r"(\d+) (passed|skipped|xfailed|failed)", told.stdout)}
    assert told.returncode == 0, told.stdout + told.stderr
    assert counts.get("passed", 0) == expected["supported"]
    assert counts.get("xfailed", 0) == expected["refuted"]
    assert counts.get("skipped", 0) == expected["undecided"]
    assert {path.name for path in tmp_path.iterdir()} <= {".benchmarks"}
