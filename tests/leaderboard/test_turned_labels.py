"""A test set whose labels are turned round shows in that every strategy is worse than chance on it."""

from dataclasses import replace

from figures_by_hand import seeded

from thawbench.leaderboard.board import build_board
from thawbench.leaderboard.markdown import render_markdown
from thawbench.leaderboard.turned_labels import TurnedLabels, turned_labels
from thawbench.suite.records import MetricValue, Record

TASK = "shift/sst2@100~films"


def shifted(strategy: str, *correlations: float, task: str = TASK, control: bool = False) -> list[Record]:
    """A record for each Matthews correlation, as balanced classes have it: 2 accuracy - 1."""
    records = seeded(strategy, task, [(1 + each) / 2 for each in correlations], metric="shifted", control=control)
    extra = [MetricValue("shifted_mcc", each, lower=-1.0, chance=0.0) for each in correlations]
    return [replace(each, metrics=(*each.metrics, mcc)) for each, mcc in zip(records, extra, strict=True)]


def test_all_below_chance_is_told_on_the_board() -> None:
    records = [*shifted("frozen", -0.4, -0.3), *shifted("finetune", -0.6), *shifted("majority", 0.0, control=True)]
    records += [
        *shifted("frozen", 0.5, task="shift/sst2@100~dvd"),
        *shifted("finetune", 0.6, task="shift/sst2@100~dvd"),
    ]

    assert turned_labels(records) == (TurnedLabels(TASK, 2, -0.6, -0.35),)
    page = " ".join(render_markdown(build_board(records)).split())
    assert "### Worse than chance - shift/sst2@100\\~films: all 2 strategies have" in page
    assert "between -60.00 and -35.00, where chance has 0" in page


def test_one_that_is_no_worse_than_chance_clears_the_labels() -> None:
    turned = shifted("frozen", -0.4)
    assert turned_labels(turned) == ()  # one strategy is bad luck
    assert turned_labels([*turned, *shifted("finetune", -0.3, 0.2)]) == ()  # -.05 in the mean
    assert turned_labels([*turned, *shifted("finetune", -0.1)]) == ()
    assert len(turned_labels([*turned, *shifted("finetune", -0.11)])) == 1
    page = render_markdown(build_board([*turned, *shifted("finetune", 0.3)]))
    assert "Worse than chance" not in page
