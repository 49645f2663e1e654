"""Steps per second beside transformers' `Trainer`: same model, batch size, lengths and precision, in turns.

It asserts that both learn the same from the same batches, never a time; `pytest -s tests/benchmarks` prints the ratios.
"""

import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from transformers import Trainer, TrainingArguments

from thawbench.contracts import ClassTarget, Labelled, TrainSet
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.classification import Classification
from thawbench.strategies.classifier import Classifier
from thawbench.strategies.encoder import Encoder
from thawbench.strategies.randomness import seeded
from thawbench.strategies.trainable import Body
from thawbench.strategies.training import Schedule, train

BATCH = 16
LR = 5e-5
STEPS = int(os.environ.get("THAWBENCH_BENCHMARK_STEPS", "20"))
ROUNDS = int(os.environ.get("THAWBENCH_BENCHMARK_ROUNDS", "2"))


def sst2() -> TrainSet:
    """Real sentences, as many as one run reads."""
    datasets = pytest.importorskip("datasets")
    rows = datasets.load_dataset("nyu-mll/glue", "sst2", split="train").shuffle(seed=0).select(range(BATCH * STEPS))
    names = rows.features["label"].names
    labelled = tuple(Labelled(row["sentence"], names[row["label"]]) for row in rows)
    return TrainSet("sst2", 1, "", ClassTarget(tuple(names)), labelled)


class InOrder(Classification):
    """The rows as they come, as the Trainer takes them with its sequential sampler."""

    def batches(self, epoch: int) -> list[NDArray[np.intp]]:
        rows = sum(len(batch) for batch in super().batches(epoch))
        return np.array_split(np.arange(rows), -(-rows // BATCH))


def parts(start: AdaptedEncoder, dropout: float) -> tuple[Body, Classifier]:
    body = Body.of(start.source).copy(dropout)
    with seeded(0, "head"):
        return body, Classifier("linear", "texts", body.dim, 2, dropout)


def ours(
    start: AdaptedEncoder, data: TrainSet, kind: type[Classification] = Classification, dropout: float = 0.1
) -> tuple[float, float]:
    """Steps per second, and the mean loss."""
    body, head = parts(start, dropout)
    assert data.target is not None
    objective = kind(body, head, data, data.target, batch_size=BATCH, seed=0)
    started = time.perf_counter()
    trained = train(objective, Schedule(LR, STEPS), seed=0, info=body.encoder.info)
    return STEPS / (time.perf_counter() - started), statistics.mean(row.loss for row in trained.trace)


class Model(nn.Module):
    """The same body and head in the form that the Trainer takes."""

    def __init__(self, body: Body, head: Classifier) -> None:
        super().__init__()
        self.body, self.head, self.encoder = body, head, body.encoder.model

    def forward(self, rows: list[list[int]], labels: Tensor) -> dict[str, Tensor]:
        return {"loss": nn.functional.cross_entropy(self.head(self.body.forward(rows)), labels)}


def theirs(
    start: AdaptedEncoder, data: TrainSet, folder: Path, dropout: float = 0.1, **arguments: Any
) -> tuple[float, float]:
    body, head = parts(start, dropout)
    assert isinstance(data.target, ClassTarget)
    classes = data.target.classes
    tokens = body.encoder.tokenize([row.input for row in data.labelled])
    table = [
        {"input_ids": text.ids, "labels": classes.index(row.label or "")}
        for text, row in zip(tokens, data.labelled, strict=True)
    ]

    def collate(rows: list[dict[str, Any]]) -> dict[str, Any]:
        return {"rows": [row["input_ids"] for row in rows], "labels": torch.tensor([row["labels"] for row in rows])}

    settings = TrainingArguments(
        output_dir=str(folder),
        per_device_train_batch_size=BATCH,
        max_steps=STEPS,
        learning_rate=LR,
        warmup_steps=STEPS // 10,
        weight_decay=0.01,
        adam_epsilon=1e-6,
        bf16=body.encoder.info.precision == "bfloat16",
        use_cpu=body.encoder.info.device == "cpu",
        report_to=[],
        save_strategy="no",
        logging_strategy="no",
        disable_tqdm=True,
        remove_unused_columns=False,
        dataloader_pin_memory=False,
        **arguments,
    )
    trainer = Trainer(model=Model(body, head), args=settings, train_dataset=table, data_collator=collate)
    started = time.perf_counter()
    loss = trainer.train().training_loss
    return STEPS / (time.perf_counter() - started), loss


def ours_unfused(start: AdaptedEncoder, data: TrainSet) -> tuple[float, float]:
    """With torch's default AdamW in place of the fused one."""
    fused = torch.optim.AdamW

    def plain(*arguments: Any, **options: Any) -> torch.optim.AdamW:
        return fused(*arguments, **{**options, "fused": False})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.optim, "AdamW", plain)
        return ours(start, data)


@pytest.mark.hub
@pytest.mark.slow
def test_both_loops_train_the_same_and_here_are_their_rates(embedded: AdaptedEncoder, tmp_path: Path) -> None:
    if not os.environ.get("HF_ENDPOINT"):
        pytest.skip("needs a Hub mirror: HF_ENDPOINT")
    assert isinstance(embedded.source, Encoder)
    data = sst2()
    contenders: dict[str, Callable[[], tuple[float, float]]] = {
        "ours": lambda: ours(embedded, data),
        "ours, as they come": lambda: ours(embedded, data, InOrder),
        "ours, AdamW not fused": lambda: ours_unfused(embedded, data),
        "Trainer": lambda: theirs(embedded, data, tmp_path),
        "Trainer, AdamW not fused": lambda: theirs(embedded, data, tmp_path, optim="adamw_torch"),
        "Trainer, as they come": lambda: theirs(embedded, data, tmp_path, train_sampling_strategy="sequential"),
        "Trainer, by length": lambda: theirs(embedded, data, tmp_path, train_sampling_strategy="group_by_length"),
    }
    rates: dict[str, list[float]] = {name: [] for name in contenders}
    losses: dict[str, float] = {}
    ours(embedded, data)  # what the first of all pays for, nobody else would
    for _ in range(ROUNDS):
        for name, run in contenders.items():
            rate, losses[name] = run()
            rates[name].append(rate)

    for name, found in rates.items():
        ratio = statistics.median(found) / statistics.median(rates["Trainer"])
        spread = f"{statistics.median(found):5.2f} ({min(found):.2f} to {max(found):.2f}) steps/s"
        print(f"{name:26} {spread}   {ratio:5.2f} x Trainer   loss {losses[name]:.3f}")
    # Those draw other batches and other dropout, so their losses differ by chance; these two do not. What is left is
    # the schedule: the Trainer's first step has a rate of 0.
    _, our_loss = ours(embedded, data, InOrder, dropout=0.0)
    _, their_loss = theirs(embedded, data, tmp_path, dropout=0.0, train_sampling_strategy="sequential")
    print(f"same batches, no dropout: loss {our_loss:.4f} here, {their_loss:.4f} there")
    assert abs(our_loss - their_loss) < 0.02
