"""The one training loop. A strategy brings an `Objective`; the loop brings everything else.

AdamW with linear warm-up and decay, clipped gradients, the backbone's precision, dropout by (seed, step), the best
weights by dev, a trace, a progress bar, and a way to be killed at any step and end with the same bytes.
"""

import dataclasses
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor, nn
from tqdm import tqdm  # type: ignore[import-untyped]

from thawbench.contracts import Json, TraceRow
from thawbench.errors import NotApplicableError
from thawbench.strategies.backbone_info import BackboneInfo
from thawbench.strategies.checkpoint import next_checkpoint
from thawbench.strategies.encode_meter import count
from thawbench.strategies.heap import keeping_freed_memory
from thawbench.strategies.interruption import Interrupted, leave_if_asked, listening
from thawbench.strategies.optimizer import Block, adamw, set_lr
from thawbench.strategies.precision import computing_in
from thawbench.strategies.randomness import seeded
from thawbench.strategies.sources import digest

Batch = TypeVar("Batch")


class Objective(Protocol[Batch]):
    """What is trained, on what, and towards what. The same calls must give the same answers in a resumed run."""

    @property
    def module(self) -> nn.Module:
        """All that takes part. The loop puts it into training mode and back, and freezes what is in no block."""
        ...

    def blocks(self) -> Sequence[Block]:
        """The weights to train."""
        ...

    def batches(self, epoch: int) -> Sequence[Batch]:
        """One pass over the data, in an order drawn from (seed, epoch)."""
        ...

    def loss(self, batch: Batch, step: int) -> Tensor:
        """A scalar, computed under autocast in the backbone's precision; torch's RNG is seeded for this step."""
        ...

    def dev_score(self) -> float | None:
        """Greater is better; None if there is no dev row. Long ones call `leave_if_asked` now and then."""
        ...


def held_out_score(batches: Iterable[Batch], loss: Callable[[Batch], Tensor]) -> float | None:
    """Minus the mean over batches of a loss, as a dev score of objectives that dev has no better question for.

    None without a batch.
    """
    losses = []
    with torch.no_grad():
        for batch in batches:
            leave_if_asked()
            losses.append(loss(batch).item())
    return -float(np.mean(losses)) if losses else None


@dataclass(frozen=True)
class Schedule:
    """How long and how fast.

    Attributes:
        lr: at its peak.
        steps: updates in all.
        warmup: the share of them over which the rate rises; then it falls to 0, both linearly.
        clip: largest norm of the whole gradient.
        dev_checks: how often dev is scored, evenly spaced, the end included.
        start_counts: whether the weights of the start may be the best on dev.
    """

    lr: float
    steps: int
    warmup: float = 0.1
    weight_decay: float = 0.01
    clip: float = 1.0
    bias_correction: bool = True
    dev_checks: int = 10
    start_counts: bool = False

    def lr_at(self, step: int) -> float:
        """The rate of the update that follows `step` updates: never 0 unless `lr` is."""
        rising = int(self.warmup * self.steps)
        if step < rising:
            return self.lr * (step + 1) / rising
        return self.lr * (self.steps - step) / (self.steps - rising)

    def scores_dev(self, step: int) -> bool:
        """Whether dev is scored after `step` updates."""
        every = math.ceil(self.steps / self.dev_checks) if self.steps else 1
        return step == self.steps or (step % every == 0 and (step > 0 or self.start_counts))


@dataclass(frozen=True)
class Trained:
    """How a run went; the weights are in the objective's module.

    Attributes:
        dev_score: the best one, whose weights were kept; None without dev rows, where the last weights were.
        best_step: the number of updates that they had had.
    """

    trace: tuple[TraceRow, ...]
    dev_score: float | None
    best_step: int
    trainable_parameters: int


def train(objective: Objective[Batch], schedule: Schedule, *, seed: int, info: BackboneInfo) -> Trained:
    """Train in place. The best weights by dev are kept; of equals the latest.

    Dev has four rows at n = 20, so that most of its scores are equal: the earliest would often be weights that the
    warm-up had hardly moved.

    Under `checkpoint.checkpointing` a run that was cut off goes on where it was saved.

    Args:
        seed: of the order stream; dropout is drawn from it and the step.
        info: whose precision and device are used.

    Raises:
        Interrupted: a signal asked to leave; what was done is saved.
        NotApplicableError: there is nothing to train on.
    """
    run = _Run(objective, schedule, seed, info)
    with listening(), keeping_freed_memory():
        run.go()
    return run.finish()


@dataclass
class _Progress:
    """Where a run stands, in plain JSON types.

    Attributes:
        position: how many batches of `epoch` are done.
        scored: the last step that dev was scored at.
        seconds: spent on this run by earlier processes, as of the last save.
    """

    step: int = 0
    epoch: int = 0
    position: int = 0
    scored: int = -1
    best_step: int | None = None
    best_score: float | None = None
    seconds: float = 0.0
    trace: list[TraceRow] = field(default_factory=list)


class _Run(Generic[Batch]):
    def __init__(self, objective: Objective[Batch], schedule: Schedule, seed: int, info: BackboneInfo) -> None:
        self.objective, self.schedule, self.seed, self.info = objective, schedule, seed, info
        self.blocks = [block for block in objective.blocks() if block.parameters]
        self.weights = {f"{b.name}/{name}": weight for b in self.blocks for name, weight in b.parameters.items()}
        trained = {id(weight) for weight in self.weights.values()}
        for weight in objective.module.parameters():
            weight.requires_grad_(id(weight) in trained)
        self.optimizer = adamw(
            self.blocks, weight_decay=schedule.weight_decay, bias_correction=schedule.bias_correction
        )
        self.progress, self.started = _Progress(), time.monotonic()
        self.best: dict[str, Tensor] = {}
        self.batches: Sequence[Batch] = ()
        self.checkpoint = next_checkpoint()
        shapes: Json = {name: list(weight.shape) for name, weight in self.weights.items()}
        self.fingerprint = digest(
            dataclasses.asdict(schedule), seed, dataclasses.asdict(info), shapes, torch.__version__
        )
        self._resume()

    def go(self) -> None:
        """Step after step until the last."""
        schedule, progress = self.schedule, self.progress
        if progress.step < schedule.steps:
            self.batches = self.objective.batches(progress.epoch)
        total = schedule.steps
        with tqdm(total=total, initial=progress.step, desc="train", leave=False, delay=2, disable=None) as bar:
            try:
                while True:
                    if schedule.scores_dev(progress.step) and progress.scored < progress.step:
                        self._score()
                    leave_if_asked()
                    if progress.step == total:
                        return
                    self._step()
                    bar.set_postfix(loss=f"{progress.trace[-1].loss:.3f}", dev=progress.best_score, refresh=False)
                    bar.update()
                    if self.checkpoint is not None and self.checkpoint.due:
                        self._save()
            except Interrupted:
                self._save()
                raise

    def finish(self) -> Trained:
        """Put the best weights in place."""
        progress = self.progress
        with torch.no_grad():
            for name, tensor in self.best.items():
                self.weights[name].copy_(tensor)
        self.objective.module.eval()
        count = sum(weight.numel() for weight in self.weights.values())
        best_step = progress.step if progress.best_step is None else progress.best_step
        return Trained(tuple(progress.trace), progress.best_score, best_step, count)

    def _step(self) -> None:
        progress, schedule = self.progress, self.schedule
        while progress.position == len(self.batches):
            if not self.batches:
                raise NotApplicableError("no batch can be made of the train rows")
            progress.epoch, progress.position = progress.epoch + 1, 0
            self.batches = self.objective.batches(progress.epoch)
        self.objective.module.train()
        lr = schedule.lr_at(progress.step)
        with seeded(self.seed, "dropout", progress.step), computing_in(self.info.precision, self.info.device):
            loss = self.objective.loss(self.batches[progress.position], progress.step)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        norms = self._clip()
        set_lr(self.optimizer, lr)
        self.optimizer.step()
        progress.step += 1
        progress.position += 1
        progress.trace.append(TraceRow(progress.step, loss.item(), lr, norms))

    def _clip(self) -> dict[str, float]:
        """Scale the gradient down to the largest norm allowed; the norm of each block before that."""
        gradients = {
            block.name: [weight.grad for weight in block.parameters.values() if weight.grad is not None]
            for block in self.blocks
        }
        norms = {name: nn.utils.get_total_norm(found) for name, found in gradients.items() if found}
        each = torch.stack(list(norms.values()))
        total = torch.linalg.vector_norm(each)
        if total > self.schedule.clip:  # else it would be read and written once more for nothing
            nn.utils.clip_grads_with_norm_(self.weights.values(), self.schedule.clip, total)
        return dict(zip(norms, each.tolist(), strict=True))

    def _score(self) -> None:
        progress = self.progress
        self.objective.module.eval()
        score = self.objective.dev_score()
        progress.scored = progress.step
        if score is None:
            return
        if progress.trace:
            progress.trace[-1] = replace(progress.trace[-1], dev_score=score)
        if not math.isnan(score) and (progress.best_score is None or score >= progress.best_score):
            progress.best_step, progress.best_score = progress.step, score
            self.best = {name: weight.detach().clone() for name, weight in self.weights.items()}

    def _save(self) -> None:
        if self.checkpoint is None:
            return
        tensors = {f"weight/{name}": weight.detach() for name, weight in self.weights.items()}
        tensors |= {f"best/{name}": tensor for name, tensor in self.best.items()}
        for name, weight in self.weights.items():
            tensors |= {f"{key}/{name}": tensor for key, tensor in self.optimizer.state[weight].items()}
        values = dataclasses.asdict(self.progress)
        values["seconds"] += time.monotonic() - self.started
        self.checkpoint.save(self.fingerprint, values, tensors)

    def _resume(self) -> None:
        saved = None if self.checkpoint is None else self.checkpoint.load(self.fingerprint)
        if saved is None:
            return
        values, tensors = saved  # the tensors may be the file itself, mapped into memory: they are copied
        self.progress = _Progress(**{**values, "trace": [TraceRow(**row) for row in values["trace"]]})
        count(seconds=self.progress.seconds, spent=0.0)  # so that the fit's cost is that of the whole run
        with torch.no_grad():
            for key, tensor in tensors.items():
                kind, _, name = key.partition("/")
                if kind == "weight":
                    self.weights[name].copy_(tensor)
                elif kind == "best":
                    self.best[name] = tensor.to(self.weights[name].device, copy=True)
                else:
                    self.optimizer.state[self.weights[name]][kind] = tensor.to(self.weights[name].device, copy=True)
