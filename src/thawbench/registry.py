"""Named things that are found by name: registries of strategies, of task families and of noisers of texts.

A registry looks in three places, and only when it has to: what registered itself, the modules of its built-in
package, and the entry points of its group. It refuses two things of one name and says where both come from.
"""

import importlib
import importlib.metadata
import pkgutil
from collections.abc import Callable
from typing import Generic, TypeVar

from thawbench.contracts import Family, Noiser, Strategy
from thawbench.errors import UserError, unknown

T = TypeVar("T")


class Registry(Generic[T]):
    """Classes by name.

    Args:
        kind: the word for one entry in messages, such as `strategy`.
        package: the package whose modules register themselves on import.
        group: the entry-point group in which other distributions offer theirs.
        attribute: the class attribute that holds an entry's own name.
    """

    def __init__(self, kind: str, package: str, group: str, attribute: str = "name") -> None:
        self.kind = kind
        self._attribute = attribute
        self._package = package
        self._group = group
        self._entries: dict[str, type[T]] = {}
        self._discovered = False

    def register(self, name: str) -> Callable[[type[T]], type[T]]:
        """A class decorator that enters the class under `name`, and tells it so: its `name` or `family` is set.

        Raises:
            UserError: another class has that name already; both modules are named.
        """

        def enter(entry: type[T]) -> type[T]:
            present = self._entries.get(name)
            if present is not None and present is not entry:
                raise UserError(
                    f"two {self.kind} classes are called {name!r}: {_origin(present)} and {_origin(entry)}; "
                    "rename one of them"
                )
            self._entries[name] = entry
            setattr(entry, self._attribute, name)
            return entry

        return enter

    def unregister(self, name: str) -> None:
        """Take an entry out again (a test's plug-in, say)."""
        self._entries.pop(name, None)

    def get(self, name: str) -> type[T]:
        """The class called `name`.

        Raises:
            UserError: there is none; the nearest names are given.
        """
        if name not in self._entries:
            self._discover()
        if name not in self._entries:
            raise unknown(self.kind, name, self._entries)
        return self._entries[name]

    def names(self) -> tuple[str, ...]:
        """Every registered name, sorted."""
        self._discover()
        return tuple(sorted(self._entries))

    def _discover(self) -> None:
        if self._discovered:
            return
        self._discovered = True
        package = importlib.import_module(self._package)
        for module in pkgutil.iter_modules(package.__path__):
            # a test module or a conftest in the folder belongs to pytest
            if not module.name.startswith(("_", "test_", "conftest")):
                importlib.import_module(f"{self._package}.{module.name}")
        for point in importlib.metadata.entry_points(group=self._group):
            try:
                self.register(point.name)(point.load())
            except Exception as error:
                raise UserError(
                    f"the {self.kind} plug-in {point.name!r} ({point.value}) does not load: "
                    f"{type(error).__name__}: {error}; mend it or uninstall its distribution"
                ) from error


def _origin(entry: type) -> str:
    return f"{entry.__module__}.{entry.__qualname__}"


strategies: Registry[Strategy] = Registry("strategy", "thawbench.strategies", "thawbench.strategies")
families: Registry[Family] = Registry("task family", "thawbench.tasks", "thawbench.tasks", "family")
noisers: Registry[Noiser] = Registry("text noiser", "thawbench.tasks", "thawbench.noisers")
