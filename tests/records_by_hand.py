"""Records made by hand, so that boards are tested without any run."""

from collections.abc import Mapping
from typing import Any

from thawbench.contracts import Seeds, Stream
from thawbench.suite.records import Environment, Failure, MetricValue, Record, Status, Usage, key_of


def make_record(
    strategy: str = "frozen",
    task: str = "sts/STS12",
    value: float | None = 0.5,
    *,
    seed: int | None = None,
    crossed: Seeds | None = None,
    dev_score: float | None = None,
    chance: float | None = None,
    status: Status = "ok",
    why: str = "",
    control: bool = False,
    direction: Any = "up",
    metric: str = "spearman",
    others: tuple[MetricValue, ...] = (),
    backbone: str = "embedded",
    weights: str = "53aa51172d142c89",
    precision: str = "float32",
    version: str = "1",
    task_version: int = 1,
    revision: str = "r1",
    fingerprint: str = "f1",
    usage: Usage | None = None,
    train: str | None = "nli",
    packages: Mapping[str, str] | None = None,
    config: Mapping[str, Any] | None = None,
    cpu: str = "some cpu",
) -> Record:
    """A record of a score, or of another status; everything else has a default.

    `seed` is drawn as the init seed alone, `crossed` as all three.
    """
    drawn: dict[Stream, int] = {} if seed is None else {"init": seed}
    if crossed is not None:
        drawn = {"sample": crossed.sample, "init": crossed.init, "order": crossed.order}
    step = {
        "strategy": strategy.partition(":")[0],
        "version": version,
        "config": config or {"spelled": strategy},
        "budget": {"steps": None, "epochs": None},
        "train": {"name": train, "version": 1, "fingerprint": "t1"} if train else None,
        "seeds": drawn,
    }
    name = task.partition(":")[0]
    cell = {
        "schema": 1,
        "adaptation": {"backbone": {"weights": weights, "tokenizer": "x", "precision": precision}, "steps": [step]},
        "task": {"name": name, "version": task_version, "fingerprint": fingerprint, "revision": revision},
    }
    failed = status in ("failed", "timeout")
    main = MetricValue(metric, value, direction, lower=-1.0, chance=chance, main=True)
    return Record(
        key=key_of(cell),
        status=status,
        strategy=strategy,
        task=task,
        family=name.partition("/")[0],
        backbone=backbone,
        control=control,
        cell=cell,
        seeds=crossed or Seeds(0, seed or 0, 0),
        draws=tuple(sorted(drawn)),
        environment=Environment("3.11.7", packages or {}, None, None, "cpu", cpu, 2, precision),
        started="2026-11-28T00:00:00+00:00",
        usage=usage or Usage(),
        metrics=(main, *others) if status == "ok" else (),
        dev_score=dev_score,
        failure=Failure("ValueError", why, "Traceback …") if failed else None,
        reason="" if failed or status == "ok" else why,
    )
