"""The picture of an encoder's layers, before and after a strategy: fitted for the picture, and not kept."""

import tempfile
from pathlib import Path
from typing import Literal

from thawbench.contracts import Adapted
from thawbench.errors import DegenerateError, NotApplicableError, UserError
from thawbench.leaderboard.ink import Theme
from thawbench.leaderboard.picture_layers import Strip, draw_layers
from thawbench.leaderboard.picture_page import refuse_unfit
from thawbench.suite.plan import Request, make_plan
from thawbench.suite.session import prepare
from thawbench.suite.store import AdaptationStore
from thawbench.tasks import sampling
from thawbench.tasks.layer_points import by_class, by_sentence, layer_points

By = Literal["class", "sentence"]


def picture_layers(
    out: Path, texts: str, by: By, strategy: str, train: str, backbone: str, theme: Theme = "light"
) -> None:
    """Draw the backbone's layers and, unless the strategy leaves them as they are, the adapted encoder's below.

    Args:
        texts: a labelled set, `docs/…` or `corpus/…`, with @n or without; see `layer_points`.
        strategy: as it is spelled, in a row or alone.
        train: what it learns from; empty for one that learns nothing, or that names its own set.
        backbone: as it is spelled.

    Raises:
        UserError: a name that does not exist, a strategy that does not go with its train set, or an unfit file.
        DataUnavailableError: data that are not to be had.
    """
    refuse_unfit(out)
    shown = by_class(texts) if by == "class" else by_sentence(texts)
    prepare(None)
    strips = []
    with tempfile.TemporaryDirectory() as folder:
        for name, adapted in _encoders(sampling.parse(texts)[0], strategy, train, backbone, Path(folder)):
            try:
                found = layer_points(adapted, shown, "the picture")
            except (NotApplicableError, DegenerateError) as error:
                raise UserError(f"{name} makes no picture of {texts}: {error}") from None
            strips.append(Strip(name, found.points, found.shares, found.groups))
    what = "texts by class" if by == "class" else "words by sentence"
    draw_layers(out, strips, f"{sampling.parse(texts)[0]}: {what}, every layer in its own plane", theme)


def _encoders(texts: str, strategy: str, train: str, backbone: str, folder: Path) -> list[tuple[str, Adapted]]:
    """The backbone and what the strategy makes of it, with their names."""
    task = f"geometry/{texts}:train={train}" if train else f"geometry/{texts}"
    plan = make_plan(Request(strategies=(strategy,), tasks=(task,), backbone=backbone, seeds="1"))
    if len(plan.cells) != 1:
        raise UserError(f"a picture is of one strategy, and {strategy} names several; give it by its plain name")
    (cell,) = plan.cells
    if cell.reason:
        raise UserError(f"{strategy} makes no picture: {cell.reason}")
    learns = [step.train.name for step in cell.adaptation.steps if step.train is not None]
    if learns and not train and "train=" not in strategy:
        raise UserError(f"{strategy} learns; say from what, as in --train {texts}@100")
    trail = AdaptationStore(folder).trail(cell.adaptation)
    names = [(backbone, trail[0])]
    return names if strategy == "frozen" else [*names, (strategy, trail[-1])]
