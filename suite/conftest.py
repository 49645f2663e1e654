"""The pytest face of the suite: the options, one test for each cell, and a summary that fits a screen."""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import pytest

from thawbench.contracts import Strategy
from thawbench.errors import UserError
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
_OUTCOMES = pytest.StashKey[list[Outcome]]()


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
    config.stash[_OUTCOMES] = []
    config.stash[_SETTINGS] = settings({option.key: config.getoption(option.key) for option in OPTIONS})


@_one_line
def pytest_sessionstart(session: pytest.Session) -> None:
    """Plan before anything is collected, so that a mistake is told once and not for each file."""
    config = session.config
    options = config.stash[_SETTINGS]
    if all("test_speed" in argument for argument in config.args):
        config.stash[_STRATEGIES] = chosen_strategies(options.strategy or ("frozen_ebm",))
    else:
        config.stash[_SESSION] = open_session(options)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each cell of the plan, and one fit for each strategy whose speed is asked for."""
    if "position" in metafunc.fixturenames:
        plan = metafunc.config.stash[_SESSION].plan
        labels = [cell.label.replace(" ", "-") for cell in plan.cells]
        metafunc.parametrize("position", range(len(plan.cells)), ids=labels)
    if "strategy" in metafunc.fixturenames:
        chosen = metafunc.config.stash.get(_STRATEGIES, [])
        metafunc.parametrize("strategy", chosen, ids=[strategy.name for strategy in chosen])


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave speed out unless its file is named: a run that finds everything recorded must encode nothing."""
    if _STRATEGIES in config.stash:
        return
    speed = [item for item in items if item.get_closest_marker("speed")]
    config.hook.pytest_deselected(items=speed)
    items[:] = [item for item in items if item not in speed]


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
    found = _one_line(session.run)(position)
    request.config.stash[_OUTCOMES].append(found)
    request.node.user_properties.append(("cached", found.cached))
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
    outcomes = config.stash[_OUTCOMES]
    if not outcomes:
        return
    runner = config.stash[_SESSION].runner
    terminalreporter.section("thawbench")
    for line in [*summary(outcomes, runner.results, runner.store.fitted), *damage(runner.records)]:
        terminalreporter.write_line(line)
