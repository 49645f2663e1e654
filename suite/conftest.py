"""The pytest face of the suite: the options, one test for each cell, and a summary that fits a screen."""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import pytest

from thawbench.errors import UserError
from thawbench.suite.options import OPTIONS, Settings, settings
from thawbench.suite.runner import Outcome
from thawbench.suite.session import Session, open_session
from thawbench.suite.summary import damage, summary

P = ParamSpec("P")
R = TypeVar("R")

_SETTINGS = pytest.StashKey[Settings]()
_SESSION = pytest.StashKey[Session]()
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
    config.addinivalue_line("markers", "speed: takes time to measure time; only when its file or marker is named")
    config.stash[_OUTCOMES] = []
    config.stash[_SETTINGS] = settings({option.key: config.getoption(option.key) for option in OPTIONS})


@_one_line
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each cell of the plan."""
    if "position" in metafunc.fixturenames:
        cells = session_of(metafunc.config).plan.cells
        metafunc.parametrize("position", range(len(cells)), ids=[cell.label.replace(" ", "-") for cell in cells])


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave speed out unless it was asked for: a run that finds everything recorded must encode nothing."""
    named = any("test_speed" in argument for argument in config.args)
    if named or "speed" in config.option.markexpr or config.getoption("benchmark_only", False):
        return
    kept = [item for item in items if item.get_closest_marker("speed") is None]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept


def session_of(config: pytest.Config) -> Session:
    """The run's session, opened when it is first needed."""
    if _SESSION not in config.stash:
        config.stash[_SESSION] = open_session(config.stash[_SETTINGS])
    return config.stash[_SESSION]


@pytest.fixture(scope="session")
def options(pytestconfig: pytest.Config) -> Settings:
    """The options' values."""
    return pytestconfig.stash[_SETTINGS]


@pytest.fixture(scope="session")
def session(pytestconfig: pytest.Config) -> Session:
    """What is run, and what runs it."""
    return session_of(pytestconfig)


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
