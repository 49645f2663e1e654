"""`thawbench doctor`: what this machine offers, and what is missing, with the way out."""

import os
import shutil
import time
import urllib.error
import urllib.request
from http.client import HTTPException
from pathlib import Path

import torch
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from thawbench.cache import cache_folder
from thawbench.strategies.feature_cache import cache_size
from thawbench.strategies.precision import named_device, resolve_device, resolve_precision
from thawbench.suite import machine


def show(console: Console) -> None:
    """Print one table; nothing is changed, and nothing is fetched but the Hub's front door."""
    table = Table(show_header=False, box=None, pad_edge=False)
    for name, value in findings():
        table.add_row(f"[bold]{escape(name)}[/bold]", escape(value))
    console.print(table)


def findings() -> list[tuple[str, str]]:
    """What there is to say, as (what, how it is)."""
    commit, dirty = machine.commit()
    device = resolve_device("auto")
    precision = resolve_precision("auto", device)
    found = list(machine.package_versions().items())
    found += [
        ("commit", f"{commit[:12]}{' with changes' if dirty else ''}" if commit else "not a checkout"),
        ("processor", f"{machine.processor()}, {torch.get_num_threads()} threads"),
        ("device", named_device(device)),
        (
            "bfloat16",
            "faster here: auto uses it" if precision == "bfloat16" else "not faster here: auto stays with float32",
        ),
        ("Hub", hub()),
    ]
    hub_cache = Path(os.environ.get("HF_HOME", "~/.cache/huggingface")).expanduser()
    for name, folder in (("cache", cache_folder()), ("Hub's cache", hub_cache)):
        found.append((name, f"{folder}: {size(folder)}"))
    return found


def hub() -> str:
    """Whether the Hub answers, in one line."""
    endpoint = os.environ.get("HF_ENDPOINT", "https://huggingface.co")
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE"):
        return f"{endpoint} is not asked: HF_HUB_OFFLINE is set; only what is cached can be used"
    clock = time.perf_counter()
    try:
        urllib.request.urlopen(urllib.request.Request(endpoint, method="HEAD"), timeout=5)
    except urllib.error.HTTPError:
        pass  # an answer, if not a page
    except OSError as error:
        reason = getattr(error, "reason", error)
        return f"{endpoint} does not answer ({reason}); set HF_ENDPOINT to a mirror, or use what is cached"
    except (ValueError, HTTPException) as error:
        return f"{endpoint} is no Hub's address ({error}); set HF_ENDPOINT to one such as https://huggingface.co"
    return f"{endpoint} answers in {(time.perf_counter() - clock) * 1000:.0f} ms"


def size(folder: Path) -> str:
    """How much a folder holds, and how much room is left beside it."""
    if not folder.exists():
        return "not there yet"
    files, held = cache_size(folder)
    return f"{files} files, {held / 1e6:,.1f} MB; {shutil.disk_usage(folder).free / 1e9:,.1f} GB free"
