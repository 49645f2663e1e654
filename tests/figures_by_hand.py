"""Records of every family that has a figure, made by hand, and what a figure drew of them."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from matplotlib.figure import Figure
from records_by_hand import make_record

from thawbench.contracts import Curve, Seeds
from thawbench.suite.records import MetricValue, Record, Usage

STRATEGIES = ("frozen", "finetune", "lp_ft")


def seeded(
    strategy: str, task: str, values: Sequence[float], *, curves: Sequence[tuple[Curve, ...]] = (), **given: object
) -> list[Record]:
    """A record for each value, at sample, init and order seeds 0, 1, …"""
    records = [
        make_record(strategy, task, value, crossed=Seeds(k, k, k), **given)  # type: ignore[arg-type]
        for k, value in enumerate(values)
    ]
    return [replace(record, curves=own) for record, own in zip(records, curves, strict=True)] if curves else records


def every_family(strategies: Sequence[str] = STRATEGIES, seeds: int = 3) -> list[Record]:
    """Scores on three sizes, along a field, on ir and sts, shifted, along a chain, under noise, and by layer."""
    draw = np.random.default_rng(7)
    records: list[Record] = []
    for level, name in enumerate(strategies):

        def some(mean: float, level: int = level) -> list[float]:
            return [float(each) for each in mean + 0.05 * level + 0.02 * draw.standard_normal(seeds)]

        usage = Usage(fit_s=10.0**level, total_parameters=100, trainable_parameters=10)
        for n, mean in ((20, 0.5), (100, 0.6), (1000, 0.7)):
            records += seeded(name, f"fewshot/sst2@{n}", some(mean), usage=usage, metric="accuracy", chance=0.5)
        for k in range(3):
            records += seeded(f"{name}:k={k}", "fewshot/snli", some(0.7 - 0.1 * k), config={"k": k}, usage=usage)
        records += seeded(name, "ir/SciFact", some(0.4))
        records += seeded(name, "sts/STS12", some(0.5)) + seeded(name, "sts/STS15", some(0.6))
        for n in (20, 100):
            homes = some(0.7)
            shifted = seeded(name, f"shift/sst2@{n}~imdb", some(0.55), metric="shifted")
            records += [
                replace(record, metrics=(*record.metrics, MetricValue("in_domain", home)))
                for record, home in zip(shifted, homes, strict=True)
            ]
        for family, curves in family_curves().items():
            records += seeded(name, family, some(0.5), curves=[curves] * seeds, metric="accuracy")
    return records


def family_curves() -> dict[str, tuple[Curve, ...]]:
    """By task, the curves that its records hold."""
    layers = (0.0, 1.0, 2.0)
    return {
        "forgetting/sst2@100+ag_news@100": (
            Curve("sst2@100", "sets trained", (1.0, 2.0), (0.7, 0.6)),
            Curve("ag_news@100", "sets trained", (2.0,), (0.8,)),
            Curve("alone", "set", (1.0, 2.0), (0.7, 0.8)),
            Curve("fresh sst2@100", "sets trained", (0.0, 1.0, 2.0), (0.6, 0.7, 0.7)),
            Curve("fresh ag_news@100", "sets trained", (0.0, 1.0, 2.0), (0.8, 0.7, 0.8)),
            Curve("drift after sst2@100", "layer", layers, (1.0, 0.9, 0.8)),
            Curve("drift after ag_news@100", "layer", layers, (1.0, 0.8, 0.7)),
        ),
        "noise/sst2@100:typos=0.2": (Curve("typos", "strength", (0.0, 0.1, 0.2), (0.7, 0.65, 0.6)),),
        "layers/sst2@100": (
            Curve("accuracy", "layer", layers, (0.5, 0.6, 0.7)),
            Curve("readout_s", "layer", layers, (1.0, 2.0, 3.0)),
        ),
        "geometry/stsb": (Curve("anisotropy", "layer", layers, (0.1, 0.2, 0.3)),),
        "probe/ewt@2000": (
            Curve("uuas", "layer", layers, (0.4, 0.5, 0.3)),
            Curve("uuas by rank", "rank", (1.0, 2.0), (0.2, 0.3)),
        ),
    }


def texts_of(figure: Figure) -> list[str]:
    """Everything that is written on it, ticks left out."""
    found = [text.get_text() for text in figure.texts]
    for axes in figure.axes:
        found += [text.get_text() for text in axes.texts] + [axes.get_xlabel(), axes.get_ylabel()]
    return [text for text in found if text]


def all_drawn_is_finite(figure: Figure) -> bool:
    """No line, marker or shape has a place that is no number, and none is drawn without one."""
    lines = [np.array(line.get_data(), dtype=float) for axes in figure.axes for line in axes.lines]
    shapes = [patch.get_path().vertices for axes in figure.axes for patch in axes.patches]
    drawn = [np.asarray(each, dtype=float) for each in (*lines, *shapes)]
    return bool(drawn) and all(each.size and np.isfinite(each).all() for each in drawn)
