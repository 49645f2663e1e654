"""The loop against torch's own optimisers and by hand; killed and resumed; what dev keeps; what a signal does."""

import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from thawbench.contracts import TraceRow
from thawbench.errors import NotApplicableError
from thawbench.strategies.backbone_info import BackboneInfo
from thawbench.strategies.batching import bucketed
from thawbench.strategies.checkpoint import checkpointing
from thawbench.strategies.encode_meter import metered
from thawbench.strategies.interruption import Interrupted, leave_if_asked, listening
from thawbench.strategies.optimizer import BETAS, EPS, Block, adamw, set_lr
from thawbench.strategies.randomness import generator, seeded
from thawbench.strategies.training import Schedule, Trained, train

INFO = BackboneInfo("toy", "", "", "", "", "", "mean", 1, 8, "float32", "cpu")
ROWS = torch.from_numpy(np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32))
GOLD = (ROWS[:, 0] > 0).long()


class Killed(Exception):
    """Stands for whatever ends a process."""


class Toy:
    """Two layers with dropout, five batches an epoch, on twenty rows."""

    def __init__(self, *, seed: int = 0, die_at: int | None = None, frozen: Sequence[str] = ()) -> None:
        with seeded(seed, "toy"):
            self.module: nn.Module = nn.ModuleDict(
                {"inner": nn.Linear(4, 8), "unused": nn.Linear(4, 4), "head": nn.Linear(8, 2)}
            )
            self.dropout = nn.Dropout(0.3)
        self.seed, self.die_at, self.frozen = seed, die_at, frozen
        self.dev: Iterator[float] | None = None
        self.steps: list[int] = []

    def blocks(self) -> list[Block]:
        """One of each part."""
        assert isinstance(self.module, nn.ModuleDict)
        parts = {name: part for name, part in self.module.items() if name not in self.frozen}
        return [Block(name, dict(part.named_parameters())) for name, part in parts.items()]

    def batches(self, epoch: int) -> list[np.ndarray[tuple[int], np.dtype[np.intp]]]:
        """Four rows each."""
        return np.split(generator(self.seed, "batches", epoch).permutation(20), 5)

    def logits(self, rows: Tensor) -> Tensor:
        """Dropout between the layers, in training only."""
        assert isinstance(self.module, nn.ModuleDict)
        self.dropout.train(self.module.training)
        made: Tensor = self.module["head"](self.dropout(torch.tanh(self.module["inner"](rows))))
        return made

    def loss(self, batch: np.ndarray[tuple[int], np.dtype[np.intp]], step: int) -> Tensor:
        """Cross-entropy."""
        if step == self.die_at:
            raise Killed
        self.steps.append(step)
        return nn.functional.cross_entropy(self.logits(ROWS[batch]), GOLD[batch])

    def dev_score(self) -> float | None:
        """What a test wants it to be, else minus the loss."""
        if self.dev is not None:
            return next(self.dev)
        assert not self.module.training
        with torch.no_grad():
            return -float(nn.functional.cross_entropy(self.logits(ROWS), GOLD))

    def weights(self) -> dict[str, Tensor]:
        """A copy."""
        return {name: tensor.clone() for name, tensor in self.module.state_dict().items()}


SCHEDULE = Schedule(lr=0.05, steps=17, dev_checks=6)


def run(toy: Toy, schedule: Schedule = SCHEDULE, seed: int = 0) -> Trained:
    return train(toy, schedule, seed=seed, info=INFO)


def same(one: Mapping[str, Tensor], other: Mapping[str, Tensor]) -> bool:
    return all(torch.equal(one[name], other[name]) for name in one)


# ---- what is computed -----------------------------------------------------------------------------------------------


def test_without_clip_and_dropout_it_is_torchs_adamw_at_the_scheduled_rates() -> None:
    toy, twin = Toy(), Toy()
    toy.dropout.p = twin.dropout.p = 0.0
    toy.dev_score = lambda: None  # type: ignore[method-assign]
    trained = run(toy, Schedule(lr=0.05, steps=10, weight_decay=0.1, clip=1e9))

    weights = [weight for block in twin.blocks() for weight in block.parameters.values()]
    groups = [
        {"params": [w for w in weights if w.ndim > 1], "weight_decay": 0.1},
        {"params": [w for w in weights if w.ndim == 1], "weight_decay": 0.0},
    ]
    plain = torch.optim.AdamW(groups, betas=BETAS, eps=EPS, foreach=False)
    losses = []
    for step in range(10):
        lr = 0.05 if step == 0 else 0.05 * (10 - step) / 9  # one step of warm-up, then down
        for group in plain.param_groups:
            group["lr"] = lr
        loss = twin.loss(twin.batches(step // 5)[step % 5], step)
        plain.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        plain.step()
        losses.append(loss.item())

    assert np.allclose([row.loss for row in trained.trace], losses, rtol=1e-5)
    assert all(
        torch.allclose(a, b, atol=1e-6) for a, b in zip(toy.weights().values(), twin.weights().values(), strict=True)
    )
    assert trained.trainable_parameters == 4 * 8 + 8 + 4 * 4 + 4 + 8 * 2 + 2
    assert trained.dev_score is None
    assert trained.best_step == 10


def test_without_bias_correction_a_first_step_is_made_of_the_bare_moments() -> None:
    weight = nn.Parameter(torch.tensor([[1.0, -2.0]]))
    optimizer = adamw([Block("a", {"w": weight}, lr_scale=0.5)], weight_decay=0.1, bias_correction=False)
    set_lr(optimizer, 0.02)
    gradients = [torch.tensor([[0.3, -0.1]]), torch.tensor([[0.1, 0.2]])]
    expected, mean, square = weight.detach().double(), torch.zeros(1, 2).double(), torch.zeros(1, 2).double()
    for gradient in gradients:
        weight.grad = gradient
        optimizer.step()
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.999 * square + 0.001 * gradient.double() ** 2
        expected = expected * (1 - 0.01 * 0.1) - 0.01 * mean / (square.sqrt() + 1e-6)

    assert torch.allclose(weight.detach().double(), expected, atol=1e-6)


def test_the_rate_rises_over_a_tenth_and_falls_to_nothing_after_the_last_step() -> None:
    schedule = Schedule(lr=1.0, steps=20)
    rates = [schedule.lr_at(step) for step in range(20)]

    assert rates[:4] == [0.5, 1.0, 1.0, 17 / 18]
    assert rates[-1] == 1 / 18
    assert schedule.lr_at(20) == 0


def test_the_gradient_is_clipped_as_a_whole_and_traced_by_block_before_that() -> None:
    free, clipped = Toy(), Toy()
    loose = run(free, Schedule(lr=0.05, steps=1, clip=1e9))
    tight = run(clipped, Schedule(lr=0.05, steps=1, clip=1e-7))
    row = tight.trace[0]

    assert row.gradient_norm == loose.trace[0].gradient_norm
    assert set(row.gradient_norm) == {"inner", "head"}  # `unused` has no gradient
    gradients = [weight.grad for weight in clipped.module.parameters() if weight.grad is not None]
    assert math.isclose(math.sqrt(sum(float(g.square().sum()) for g in gradients)), 1e-7, rel_tol=1e-2)


def test_weights_that_take_no_part_get_no_update() -> None:
    toy = Toy(frozen=["inner"])
    before = toy.weights()
    trained = run(toy)
    after = toy.weights()

    assert same({k: v for k, v in before.items() if not k.startswith("head")}, after)
    assert not torch.equal(before["head.weight"], after["head.weight"])
    assert set(trained.trace[0].gradient_norm) == {"head"}


def test_a_rate_of_nothing_and_a_length_of_nothing_leave_every_bit() -> None:
    for schedule in (Schedule(lr=0.0, steps=7), Schedule(lr=0.1, steps=0)):
        toy = Toy()
        before = toy.weights()
        run(toy, schedule)
        assert same(before, toy.weights())


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others() -> None:
    first, again, other = Toy(), Toy(), Toy()
    torch.manual_seed(1)
    one = run(first)
    torch.manual_seed(2)  # which nobody may read
    two = run(again)
    run(other, seed=1)

    assert same(first.weights(), again.weights())
    assert one.trace == two.trace
    assert not same(first.weights(), other.weights())


def test_nothing_to_train_on_is_said() -> None:
    toy = Toy()
    toy.batches = lambda epoch: []  # type: ignore[method-assign]
    with pytest.raises(NotApplicableError, match="no batch"):
        run(toy)


# ---- dev ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scores", "best", "start_counts"),
    [([0.1, 0.5, 0.5, 0.4], 3, False), ([0.4, 0.2, 0.3, 0.1], 1, False), ([0.9, 0.5, 0.8, 0.4, 0.4], 0, True)],
)
def test_the_best_on_dev_is_kept_and_of_equals_the_latest(scores: list[float], best: int, start_counts: bool) -> None:
    schedule = Schedule(lr=0.05, steps=4, dev_checks=4, start_counts=start_counts)
    toy, seen = Toy(), []

    def judge() -> float:
        seen.append(toy.weights())
        return scores[len(seen) - 1]

    toy.dev_score = judge  # type: ignore[method-assign]
    trained = run(toy, schedule)

    assert (trained.best_step, trained.dev_score) == (best, max(scores))
    assert same(seen[best if start_counts else best - 1], toy.weights())
    assert [row.dev_score for row in trained.trace] == scores[-4:]


def test_a_score_that_is_no_number_is_never_the_best() -> None:
    toy = Toy()
    toy.dev = iter([math.nan, 0.5, math.nan])
    assert run(toy, Schedule(lr=0.05, steps=3, dev_checks=3)).best_step == 2


# ---- killed and resumed ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bias_correction", [True, False])
@pytest.mark.parametrize("die_at", [0, 1, 5, 9, 16])
def test_killed_at_any_step_and_resumed_it_ends_with_the_same_bytes(
    die_at: int, bias_correction: bool, tmp_path: Path
) -> None:
    schedule = Schedule(lr=0.05, steps=17, dev_checks=6, bias_correction=bias_correction)
    undisturbed = Toy()
    expected = run(undisturbed, schedule)
    with pytest.raises(Killed), checkpointing(tmp_path, every_s=0):
        run(Toy(die_at=die_at), schedule)
    resumed = Toy()
    with checkpointing(tmp_path):
        trained = run(resumed, schedule)

    assert resumed.steps == list(range(die_at, 17))
    assert same(undisturbed.weights(), resumed.weights())
    assert trained == expected
    assert not list(tmp_path.iterdir())


def test_a_save_some_steps_ago_is_as_good(tmp_path: Path) -> None:
    undisturbed = Toy()
    run(undisturbed)
    with pytest.raises(Killed), checkpointing(tmp_path, every_s=0):
        run(Toy(die_at=6))
    with pytest.raises(Killed), checkpointing(tmp_path, every_s=3600):
        run(Toy(die_at=12))
    resumed = Toy()
    with checkpointing(tmp_path):
        run(resumed)

    assert resumed.steps[0] == 6
    assert same(undisturbed.weights(), resumed.weights())


def test_the_seconds_before_it_was_killed_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hours = iter(range(0, 3600 * 1000, 3600))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(hours)))
    with pytest.raises(Killed), checkpointing(tmp_path, every_s=0):
        run(Toy(die_at=6))
    monkeypatch.undo()
    with metered() as meter, checkpointing(tmp_path):
        run(Toy())

    assert meter.seconds >= 6 * 3600
    assert meter.spent == 0


def test_two_runs_of_one_fit_have_a_file_each(tmp_path: Path) -> None:
    def fit() -> None:
        with checkpointing(tmp_path, every_s=0):
            run(Toy())
            run(Toy(seed=1, die_at=3))

    with pytest.raises(Killed):
        fit()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["training-1.safetensors", "training-2.safetensors"]


def test_another_schedule_and_a_damaged_file_start_anew(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(Killed), checkpointing(tmp_path, every_s=0):
        run(Toy(die_at=6))
    other = Toy(die_at=16)
    with pytest.raises(Killed), checkpointing(tmp_path, every_s=0):
        run(other, Schedule(lr=0.01, steps=17))
    assert other.steps[0] == 0
    assert "another training run" in caplog.text

    file = tmp_path / "training-1.safetensors"
    file.write_bytes(file.read_bytes()[:-9])
    anew = Toy()
    with checkpointing(tmp_path):
        run(anew, Schedule(lr=0.01, steps=17))
    assert anew.steps[0] == 0
    assert "damaged" in caplog.text


def test_a_folder_that_cannot_be_written_is_reported_and_training_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    toy, plain = Toy(), Toy()
    with checkpointing(tmp_path / "file", every_s=0):
        run(toy)
    run(plain)

    assert "cannot be saved" in caplog.text
    assert same(toy.weights(), plain.weights())


_CHILD = """
import os, sys, time
sys.path.insert(0, {tests!r})
from pathlib import Path
import test_training as t
from safetensors.torch import save_file
class Slow(t.Toy):
    def loss(self, batch, step):
        if step == int(sys.argv[2]):
            print("here", flush=True)
            time.sleep(60)
        return super().loss(batch, step)
toy = Slow()
with t.checkpointing(Path(sys.argv[1]), every_s=0):
    t.run(toy)
    save_file(toy.weights(), sys.argv[3])
"""


def test_a_process_killed_by_force_is_resumed_by_the_next_to_the_same_bytes(tmp_path: Path) -> None:
    code = _CHILD.format(tests=os.path.dirname(__file__))
    arguments = [sys.executable, "-W", "ignore", "-c", code, str(tmp_path / "saved")]
    with subprocess.Popen([*arguments, "7", str(tmp_path / "none")], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"here\n"
        child.send_signal(signal.SIGKILL)
    assert child.returncode == -signal.SIGKILL
    subprocess.run([*arguments, "-1", str(tmp_path / "end")], check=True)
    undisturbed = Toy()
    run(undisturbed)

    assert same(undisturbed.weights(), load_file(tmp_path / "end"))


# ---- signals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGUSR2, signal.SIGINT])
def test_a_signal_saves_leaves_within_a_second_and_costs_no_step(signum: signal.Signals, tmp_path: Path) -> None:
    class Signalled(Toy):
        def loss(self, batch: np.ndarray[tuple[int], np.dtype[np.intp]], step: int) -> Tensor:
            if step == 8:
                signal.raise_signal(signum)
            return super().loss(batch, step)

    undisturbed, left, resumed = Toy(), Signalled(), Toy()
    run(undisturbed)
    handler = signal.getsignal(signum)
    started = time.perf_counter()
    with pytest.raises(Interrupted, match=signum.name), checkpointing(tmp_path):
        run(left)
    assert time.perf_counter() - started < 1
    assert signal.getsignal(signum) is handler
    assert left.steps == list(range(9))
    with checkpointing(tmp_path):
        run(resumed)

    assert resumed.steps == list(range(9, 17))
    assert same(undisturbed.weights(), resumed.weights())


def test_a_signal_amid_dev_scoring_is_obeyed_there_and_the_score_taken_later(tmp_path: Path) -> None:
    undisturbed, left, resumed = Toy(), Toy(), Toy()
    expected = run(undisturbed)

    def interrupted() -> float:
        signal.raise_signal(signal.SIGTERM)
        leave_if_asked()
        raise AssertionError("it stayed")

    left.dev_score = interrupted  # type: ignore[method-assign]
    with pytest.raises(Interrupted), checkpointing(tmp_path):
        run(left)
    with checkpointing(tmp_path):
        assert run(resumed) == expected
    assert resumed.steps[0] == 3


def test_no_except_exception_swallows_it() -> None:
    assert not issubclass(Interrupted, Exception)
    assert issubclass(Interrupted, KeyboardInterrupt)


def test_a_signal_that_came_too_late_goes_to_the_handler_of_before() -> None:
    caught: list[int] = []
    before = signal.signal(signal.SIGUSR2, lambda signum, frame: caught.append(signum))
    try:
        with listening():
            signal.raise_signal(signal.SIGUSR2)
            assert not caught
    finally:
        signal.signal(signal.SIGUSR2, before)
    assert caught == [signal.SIGUSR2]


def test_outside_the_main_thread_training_runs_without_handlers() -> None:
    toy, plain = Toy(), Toy()
    thread = threading.Thread(target=run, args=(toy,))
    thread.start()
    thread.join()
    run(plain)
    assert same(toy.weights(), plain.weights())


# ---- batches --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rows", "sizes"), [(0, set()), (1, {1}), (16, {16}), (17, {8, 9}), (1000, {15, 16})])
def test_batches_hold_every_row_once_and_are_of_one_size_but_for_one(rows: int, sizes: set[int]) -> None:
    lengths = generator(0, "lengths").integers(3, 60, rows)
    batches = bucketed(lengths.tolist(), 16, generator(1, "batches"))

    assert sorted(row for batch in batches for row in batch) == list(range(rows))
    assert {len(batch) for batch in batches} <= sizes


def test_buckets_save_most_of_the_padding_and_change_with_the_epoch() -> None:
    lengths = generator(0, "lengths").integers(3, 60, 1000)
    batches = bucketed(lengths.tolist(), 16, generator(1, "batches", 0))
    other = bucketed(lengths.tolist(), 16, generator(1, "batches", 1))
    shuffled = np.array_split(generator(1, "batches", 0).permutation(1000), 63)

    def padding(parts: Sequence[np.ndarray[tuple[int], np.dtype[np.intp]]]) -> float:
        return float(sum(len(part) * lengths[part].max() for part in parts) / lengths.sum() - 1)

    assert padding(batches) < 0.2 < 0.6 < padding(shuffled)
    assert {frozenset(batch) for batch in batches}.isdisjoint(frozenset(batch) for batch in other)


def test_a_trace_row_is_what_the_contract_says() -> None:
    row = run(Toy()).trace[0]
    assert isinstance(row, TraceRow)
    assert row.step == 1
    assert row.lr == 0.05
