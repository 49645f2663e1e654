"""docs/strategies.md, written from the strategies themselves.

    python -m thawbench.suite.pinned_scores --page

What a strategy is stands in the first sentence of its module's docstring. Its sources are the citations in the class's
docstring, else in any other of its module: `Authors, "Title", Venue year`.
"""

import ast
import inspect
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from thawbench.contracts import Json
from thawbench.registry import strategies
from thawbench.strategies.rows import NAMED_ROWS
from thawbench.strategies.tuned import read_choices

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "strategies.md"
COMMAND = "python -m thawbench.suite.pinned_scores --page"

_NAME = r"[A-Z][\w'-]+(?: [A-Z][\w'-]+)*"
_CITATION = re.compile(rf'{_NAME}(?:, {_NAME})*(?: and {_NAME}| et al\.)?, "[^"]+",[^.;:()"]*?\b(?:19|20)\d\d')
_PACKAGE = "thawbench.strategies."
_OBJECTIVE = {"bert_qt": "quick_thoughts", "ebm": "energy", "frozen_ebm": "energy", "mlm": "masking"}
"""Where strategies whose objective has a module of its own say what it comes from."""

_HEAD = """\
# Strategies

What can be done with a pretrained encoder here, as `--strategy=NAME`; several in a row are joined by `+`. Written by
`{command}`.

*Learns from*: the signals of which a train set must offer one. *Trains*: the share of the weights that an optimiser
moves, the strategy's own networks included, measured on the backbone `tiny` (0.9 million weights); of a strategy that
makes no classes it is that of the read-out where nothing else is trained. It is more than all where a network is
trained along and thrown away. *Searched*: the default that `thawbench tune` chose on dev for all-MiniLM-L6-v2, and
in how many trials; no other default was searched.

"""


def built_in() -> tuple[str, ...]:
    """The strategies of this package, by name; plug-ins are left out."""
    return tuple(name for name in strategies.names() if strategies.get(name).__module__.startswith(_PACKAGE))


def what_it_is(name: str) -> str:
    """The first sentence of the strategy's module, less a citation; empty if there is none."""
    told = _plain(inspect.getdoc(sys.modules[strategies.get(name).__module__]))
    told = _CITATION.sub("", told).strip()
    sentence = re.split(r"(?<=\w[.!?]) (?=[A-Z`])", told, maxsplit=1)[0]
    return sentence.rstrip(" .:,;")


def sources(name: str) -> tuple[str, ...]:
    """What the strategy comes from, as cited; empty if nothing is."""
    kind = strategies.get(name)
    module = _PACKAGE + _OBJECTIVE[name] if name in _OBJECTIVE else kind.__module__
    for texts in ([inspect.getdoc(kind)], _docstrings(module)):
        found = dict.fromkeys(citation for text in texts for citation in _CITATION.findall(_plain(text)))
        if found:
            return tuple(found)
    return ()


def searched(name: str) -> str:
    """Its defaults that were chosen on dev, for it or for one whose choices it takes over, and in how many trials."""
    kind = strategies.get(name)
    config = kind.Config()
    found: dict[str, str] = {}
    for other in dict.fromkeys(filter(None, (name, kind.tuned_as, *kind.asks_for))):
        for choice in read_choices(other):
            field, trials = str(choice["field"]), len(cast("list[Json]", choice["trials"]))
            if other in kind.asks_for or getattr(config, field, "") is None:
                told = f"{field}, {trials} trials" + ("" if other == name else f" of `{other}`")
                found.setdefault(field, told)  # its own choice has its way
    return "; ".join(found.values())


def page(shares: Mapping[str, float]) -> str:
    """The whole page.

    Args:
        shares: of the weights that a strategy trains, by name; what is missing is shown as a dash.
    """
    lines = [
        "| name | what it is | learns from | gives | trains | searched | source |",
        "|---|---|---|---|---:|---|---|",
    ]
    for name in built_in():
        kind = strategies.get(name)
        cells = (
            f"`{name}`",
            what_it_is(name),
            ", ".join(sorted(signal.value for signal in kind.consumes)) or "nothing",
            ", ".join(sorted(what.value for what in kind.provides)),
            _percent(shares[name]) if name in shares else "–",
            searched(name) or "–",
            "; ".join(sources(name)) or "–",
        )
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    rows = ", ".join(f"`{name}` is `{stands_for}`" for name, stands_for in NAMED_ROWS.items())
    return _HEAD.format(command=COMMAND) + "\n".join(lines) + f"\n\nRows with names of their own: {rows}.\n"


def write_page(shares: Mapping[str, float]) -> None:
    """Replace docs/strategies.md."""
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(shares), encoding="utf-8")


def _percent(share: float) -> str:
    return "0" if not share else f"{100 * share:.2g} %" if share < 0.995 else f"{100 * share:.0f} %"


def _docstrings(module: str) -> list[str]:
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    return [ast.get_docstring(node) or "" for node in ast.walk(tree) if isinstance(node, kinds)]


def _plain(text: str | None) -> str:
    return " ".join((text or "").split())
