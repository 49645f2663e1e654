"""The pytest face of the suite: the options, one test for each cell, and a summary that fits a screen."""

import functools
import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ParamSpec, TypeVar

import pytest

from thawbench.contracts import Strategy
from thawbench.errors import UserError
from thawbench.leaderboard.claim_verdict import Verdict
from thawbench.leaderboard.claims import judge_folder
from thawbench.suite.cells import Cell
from thawbench.suite.claim_check import check_names
from thawbench.suite.options import OPTIONS, Settings, settings
from thawbench.suite.plan import chosen_strategies
from thawbench.suite.runner import Outcome
from thawbench.suite.session import Session, open_session
from thawbench.suite.summary import damage, summary

P = ParamSpec("P")
R = TypeVar("R")

_SETTINGS = pytest.StashKey[Settings]()
_SESSION = pytest.StashKey[Session]()
_STRATEGIES = pytest.StashKey[list[Strategy]]()
_VERDICTS = pytest.StashKey[tuple[Verdict, ...]]()


def _one_line(hook: Callable[P, R]) -> Callable[P, R]:
    """A user's mistake ends the run with one line and exit code 2, as on the command line."""

    @functools.wraps(hook)
    def told(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return hook(*args, **kwargs)
        except UserError as error:
            pytest.exit(f"thawbench: {error}", returncode=2)

    return told


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of `thawbench run`, under the same names."""
    group = parser.getgroup("thawbench", "what to measure, and on what")
    for option in OPTIONS:
        if option.flag:
            group.addoption(f"--{option.name}", dest=option.key, action="store_true", help=option.help)
        else:
            shown = f"{option.help} [{option.default}]" if option.default else option.help
            action = "append" if option.many else "store"
            default = option.default or None
            group.addoption(f"--{option.name}", dest=option.key, action=action, default=default, help=shown)


@_one_line
def pytest_configure(config: pytest.Config) -> None:
    """Check the options' values before anything is collected."""
    config.addinivalue_line("markers", "speed: takes time to measure time; only when its file is named")
    config.addinivalue_line("markers", "claims: what the records in --results say of each claim; only with -m claims")
    chosen = settings({option.key: config.getoption(option.key) for option in OPTIONS})
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if workers > 1 and chosen.threads is None:
        chosen = replace(chosen, threads=max(1, (os.cpu_count() or 1) // workers))
    config.stash[_SETTINGS] = chosen


@_one_line
def pytest_sessionstart(session: pytest.Session) -> None:
    """Plan before anything is collected, so that a mistake is told once and not for each file."""
    config = session.config
    options = config.stash[_SETTINGS]
    if config.getoption("markexpr") == "claims" or all("test_claims" in argument for argument in config.args):
        config.stash[_VERDICTS] = judge_folder(options.results, check_names=check_names).verdicts
    elif all("test_speed" in argument for argument in config.args):
        config.stash[_STRATEGIES] = chosen_strategies(options.strategy or ("frozen_ebm",))
    else:
        config.stash[_SESSION] = open_session(options)


def _test_id(cell: Cell) -> str:
    return cell.label.replace(" ", "-")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With `-n 2` the cells of a strategy go to one worker, which trains once what they share."""
    from xdist.scheduler import LoadScopeScheduling

    session = config.stash.get(_SESSION, None)
    strategy_of = {_test_id(cell): cell.strategy for cell in session.plan.cells} if session else {}

    class ByStrategy(LoadScopeScheduling):  # type: ignore[misc]  # xdist ships no types
        def _split_scope(self, nodeid: str) -> str:
            return strategy_of.get(nodeid.partition("[")[2].removesuffix("]"), nodeid)

    return ByStrategy(config, log)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each cell of the plan, each claim, and each strategy whose speed is asked for."""
    if "position" in metafunc.fixturenames:
        opened = metafunc.config.stash.get(_SESSION, None)
        cells = opened.plan.cells if opened else ()
        metafunc.parametrize("position", range(len(cells)), ids=[_test_id(cell) for cell in cells])
    if "strategy" in metafunc.fixturenames:
        chosen = metafunc.config.stash.get(_STRATEGIES, [])
        metafunc.parametrize("strategy", chosen, ids=[strategy.name for strategy in chosen])
    if "verdict" in metafunc.fixturenames:
        verdicts = metafunc.config.stash.get(_VERDICTS, ())
        metafunc.parametrize("verdict", verdicts, ids=[verdict.claim.id for verdict in verdicts])


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is not asked for by name: a run that finds everything recorded must encode nothing."""
    asked = {"speed": _STRATEGIES in config.stash, "claims": _VERDICTS in config.stash}
    left = [item for item in items if any(not asked.get(mark.name, True) for mark in item.iter_markers())]
    config.hook.pytest_deselected(items=left)
    items[:] = [item for item in items if item not in left]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Several processes each waited for cells that were another's; whoever started them lets go of what is left."""
    opened = session.config.stash.get(_SESSION, None)
    if opened is not None and session.config.getoption("numprocesses", None):
        opened.runner.tidy()


@pytest.fixture(scope="session")
def options(pytestconfig: pytest.Config) -> Settings:
    """The options' values."""
    return pytestconfig.stash[_SETTINGS]


@pytest.fixture(scope="session")
def session(pytestconfig: pytest.Config) -> Session:
    """What is run, and what runs it."""
    return pytestconfig.stash[_SESSION]


@pytest.fixture
def outcome(session: Session, position: int, request: pytest.FixtureRequest) -> Outcome:
    """The cell's outcome, run now or found recorded."""
    fitted = session.runner.store.fitted
    found = _one_line(session.run)(position)
    told = {"position": position, "cached": found.cached, "fitted": session.runner.store.fitted - fitted}
    request.node.user_properties.extend(told.items())  # these reach the summary from other processes, too
    return found


def pytest_report_teststatus(
    report: pytest.TestReport | pytest.CollectReport, config: pytest.Config
) -> tuple[str, str, str] | None:
    """Show a cell that was recorded before as cached."""
    if report.when == "call" and report.passed and dict(getattr(report, "user_properties", ())).get("cached"):
        return "cached", "c", "CACHED"
    return None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Scores, counts, and what was set aside."""
    session = config.stash.get(_SESSION, None)
    reports = [report for kind in terminalreporter.stats.values() for report in kind]
    told = [dict(report.user_properties) for report in reports if getattr(report, "when", "") == "call"]
    found = {each["position"]: each for each in told if "position" in each}
    if session is None or not found:
        return
    runner = session.runner
    outcomes = []
    for position, each in sorted(found.items()):
        cell = session.plan.cells[position]
        record = runner.records.read(cell.key)
        if record is not None:
            outcomes.append(Outcome(cell, record, each["cached"]))
    fitted = sum(each["fitted"] for each in found.values())
    terminalreporter.section("thawbench")
    for line in [*summary(outcomes, runner.results, fitted), *damage(runner.records)]:
        terminalreporter.write_line(line)
