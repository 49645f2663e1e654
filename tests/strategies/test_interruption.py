"""A training that is asked to leave saves itself, whoever asks."""

import signal
from pathlib import Path
from typing import Any

import pytest

from thawbench.contracts import Budget
from thawbench.strategies import interruption, training
from thawbench.suite.plan import Request, make_plan
from thawbench.suite.runner import Runner


def test_a_training_over_time_saves_itself_and_ends_with_the_weights_of_an_undisturbed_one(
    tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def runner(folder: str, **options: Any) -> Runner:
        return Runner(tmp_path / folder, plan.cells, keep_checkpoints=True, **options)

    def weights(folder: str) -> bytes:
        return (tmp_path / folder / "adaptations" / cell.adaptation.key / "state.safetensors").read_bytes()

    plan = make_plan(
        Request(
            strategies=("finetune:lr=1e-3",),
            tasks=("fewshot/world/meals@20",),
            backbone=str(tiny_folder),
            precision="float32",
            budget=Budget(steps=12),
        )
    )
    (cell,) = plan.cells
    undisturbed = runner("undisturbed").run(cell).record
    looks = 0
    leave_if_asked = interruption.leave_if_asked

    def late() -> None:
        nonlocal looks
        looks += 1
        if looks == 5:
            signal.raise_signal(signal.SIGALRM)
        leave_if_asked()

    monkeypatch.setattr(training, "leave_if_asked", late)
    left = runner("disturbed", cell_timeout=1000).run(cell).record
    ended = runner("disturbed", cell_timeout=1000).run(cell).record

    assert (left.status, ended.status, ended.attempts) == ("timeout", "ok", 2)
    assert 12 < looks < 2 * 12, "the second run goes on from the step that the first was at"
    assert ended.metrics == undisturbed.metrics
    assert weights("disturbed") == weights("undisturbed")
