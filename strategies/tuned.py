"""What `thawbench tune` found on dev: a strategy's defaults by the size of the backbone, as committed data.

Each file `tuned/<strategy>.toml` holds one choice a backbone, with the trials that decided it; their records lie beside
it in `tuned/<strategy>.json`. A choice fills a field of the configuration that is None.
"""

import dataclasses
import functools
import hashlib
import json
import math
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar, cast

from thawbench.contracts import Json, Strategy
from thawbench.errors import UserError

FOLDER = Path(__file__).parent / "tuned"
ConfigT = TypeVar("ConfigT")
_NEAR = 3.0
"""A choice holds for backbones up to this many times larger or smaller than the one that it was made on."""


def tuned(strategy_name: str, backbone_size: int, folder: Path = FOLDER) -> dict[str, Json]:
    """The fields that were chosen on dev for a backbone of this many parameters, with their values.

    The choice of the nearest size counts, by ratio, unless that is off by more than three; of two choices as near as
    each other, that of the larger backbone.

    Returns:
        Empty if the strategy was not tuned at a size that is near.

    Raises:
        UserError: the file is damaged.
    """
    if backbone_size < 1:
        return {}
    near = []
    for choice in read_choices(strategy_name, folder):
        parameters = choice["parameters"]
        if isinstance(parameters, int) and parameters > 0:
            distance = abs(math.log(parameters / backbone_size))
            near.append((distance, -parameters, str(choice["field"]), choice["value"]))
    if not near:
        return {}
    distance, _, field, value = min(near, key=lambda each: each[:3])
    return {field: value} if distance <= math.log(_NEAR) else {}


def with_choices(config: ConfigT, strategy_names: Iterable[str], backbone_size: int) -> ConfigT:
    """The configuration with its open fields as they were chosen for these strategies and this size of the backbone.

    Of two that chose the same field the later has its way.
    """
    chosen = [each for name in strategy_names for each in tuned(name, backbone_size).items()]
    open_fields: dict[str, Any] = {name: value for name, value in chosen if getattr(config, name, "") is None}
    filled: ConfigT = dataclasses.replace(cast(Any, config), **open_fields) if open_fields else config
    return filled


def version_with_choices(version: str, strategy: Strategy) -> str:
    """The version of a strategy with all that was chosen for it, or for those that it is tuned as or asks for."""
    for name in dict.fromkeys(filter(None, (strategy.name, strategy.tuned_as, *strategy.asks_for))):
        own = strategy if name == strategy.name else None
        version = tuned_version(version, name, strategy.config, own=own)
    return version


def tuned_version(
    version: str, strategy_name: str, config: Any, folder: Path = FOLDER, *, own: Strategy | None = None
) -> str:
    """The version of a strategy whose open fields are filled by choices: they are part of it.

    Args:
        own: the strategy itself, whose attribute `lr` counts where `config.lr` is open and nothing was chosen.

    Returns:
        `version` as it is if no choice has a say, so that a search is found again after its choice was written; and if
        all choices are what the strategy takes by itself, so that a search which changes nothing makes no cell anew.
    """
    said: list[Json] = [
        [choice["parameters"], choice["field"], choice["value"]]
        for choice in read_choices(strategy_name, folder)
        if getattr(config, str(choice["field"]), "") is None
    ]
    if all(value == getattr(own, str(field), None) for _, field, value in cast(list[list[Json]], said)):
        return version
    return f"{version}+{hashlib.sha256(json.dumps(said).encode()).hexdigest()[:8]}"


def read_choices(strategy_name: str, folder: Path = FOLDER) -> list[dict[str, Json]]:
    """All choices of one strategy, as its file has them; none if there is no file.

    Raises:
        UserError: the file is damaged.
    """
    path = folder / f"{strategy_name}.toml"
    try:
        written = path.stat()
        return list(_parsed(path, written.st_mtime_ns, written.st_size))
    except FileNotFoundError:
        return []
    except (ValueError, KeyError, TypeError) as error:  # TOMLDecodeError and UnicodeDecodeError are ValueErrors
        raise UserError(
            f"{path} is not as `thawbench tune` writes it ({error}); remove it and tune {strategy_name} again"
        ) from None


@functools.lru_cache(maxsize=256)
def _parsed(path: Path, mtime_ns: int, size: int) -> tuple[dict[str, Json], ...]:
    """A file's choices, parsed once: a plan asks for them at every step of every cell."""
    choices = tomllib.loads(path.read_text(encoding="utf-8"))["choice"]
    if not all({"parameters", "field", "value", "weights", "trials"} <= set(choice) for choice in choices):
        raise KeyError("parameters, field, value, weights or trials")
    return tuple(choices)
