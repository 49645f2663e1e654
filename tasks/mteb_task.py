"""Any task of MTEB by its name: what planning needs of it, its rows, its fingerprint. One subclass per type."""

import abc
import importlib.metadata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from thawbench.contracts import Adapted, Json, Metric, Provides, Scores
from thawbench.errors import UserError, unknown
from thawbench.tasks import fingerprint
from thawbench.tasks.fingerprint import Entry, Fingerprinted
from thawbench.tasks.hub import fetching, resolved_revision
from thawbench.tasks.mteb_bridge import mteb_calls

_ENGLISH = ("en", "en-en", "eng", "eng-eng", "default")


@dataclass(frozen=True)
class Listing:
    """A task as mteb has it, or one of our own: the name that boards show, its data, and what is adapted to for it."""

    name: str
    data: str
    revision: str
    train: str = "nli"


@dataclass(frozen=True)
class Loaded:
    """A task of mteb with its rows; they are those of the manifest."""

    task: Any


class MtebTask(Fingerprinted):
    """A task that mteb measures, and the family of all tasks of its type.

    mteb takes seconds to import. It is imported for a task that the manifest does not know, and to load and to
    evaluate, but not to plan a task that was seen before.
    """

    family: ClassVar[str]
    mteb_type: ClassVar[str]
    listed: ClassVar[tuple[str, ...]]
    version: ClassVar[int] = 1
    needs: ClassVar[Provides] = Provides.VECTORS

    def __init__(self, listing: Listing) -> None:
        self.listing = listing

    @classmethod
    def known(cls) -> tuple[str, ...]:
        """The bodies worth listing; every other name of mteb resolves too."""
        return cls.listed

    @classmethod
    def resolve(cls, body: str) -> Self:
        """The task `family/body`, whatever the case of its letters.

        Raises:
            UserError: mteb has none of that name, or it is not one that is measured here.
        """
        if body.lower() in cls._own():
            return cls(cls._own()[body.lower()])
        for entry in fingerprint.seen(f"{cls.family}/{body}"):
            if entry.facts.get("mteb") == _mteb_version():
                return cls(Listing(entry.name.split("/", 1)[1], entry.data, entry.revision))
        return cls(cls._look_up(body))

    @classmethod
    def _look_up(cls, body: str) -> Listing:
        metadata = find(body, cls.mteb_type, cls.family, cls._own()).metadata
        return Listing(metadata.name, metadata.dataset["path"], metadata.dataset["revision"])

    @classmethod
    def _own(cls) -> Mapping[str, Listing]:
        """Tasks that mteb lacks, by their names in lower case."""
        return {}

    @property
    def name(self) -> str:
        """As mteb spells it, behind the family."""
        return f"{self.family}/{self.listing.name}"

    @property
    def revision(self) -> str:
        """The commit of the data that mteb pins."""
        return self.listing.revision

    @property
    def train(self) -> tuple[str, ...]:
        """One set of pairs."""
        return (self.listing.train,)

    @property
    def corpus(self) -> str | None:
        """No documents of its own, unless a subclass has some."""
        return None

    @property
    @abc.abstractmethod
    def metrics(self) -> tuple[Metric, ...]:
        """All that it reports."""

    def load(self) -> Loaded:
        """The rows.

        Raises:
            DataUnavailableError: not to be had, or not those of the manifest.
        """
        with fetching(f"{self.listing.data} at revision {self.revision[:12]}", self.name), mteb_calls():
            task = self._make()
            task.load_data()
            if hasattr(task, "convert_v1_dataset_format_to_v2"):
                task.convert_v1_dataset_format_to_v2(num_proc=None)
            found = fingerprint.fingerprint(self._rows(task))

        def entry() -> Entry:
            commit = resolved_revision(self.listing.data, self.revision)
            facts: dict[str, Json] = {"mteb": _mteb_version(), "commit": commit, **self._facts(task)}
            return Entry(self.name, self.listing.data, self.revision, found, facts)

        self._enter(found, entry)
        return Loaded(task)

    @abc.abstractmethod
    def evaluate(self, trail: Sequence[Adapted], data: Loaded) -> Scores:
        """Measure the last of the trail."""

    @abc.abstractmethod
    def _rows(self, task: Any) -> Iterator[Json]:
        """All that evaluation reads of a loaded mteb task, in order."""

    def _facts(self, task: Any) -> dict[str, Json]:
        """What planning needs of a loaded mteb task beside its fingerprint."""
        return {}

    def _make(self) -> Any:
        return find(self.listing.name, self.mteb_type, self.family)

    def _seen(self) -> Entry | None:
        for entry in fingerprint.seen(self.name):
            if entry.revision == self.revision:
                if entry.facts.get("mteb") != _mteb_version():  # same rows as another mteb had them
                    entry = replace(entry, facts={**entry.facts, "mteb": _mteb_version()})
                    fingerprint.remember(entry)
                return entry
        return None


def splits(task: Any) -> Iterator[tuple[str, str, Any]]:
    """(split, subset, data) of a loaded mteb task, in the order in which mteb evaluates them."""
    for split in task.eval_splits:
        for subset in task.hf_subsets:
            yield split, subset, subset_of(task, subset)[split]


def subset_of(task: Any, subset: str) -> Any:
    """All splits of one subset of a loaded mteb task."""
    return task.dataset[subset] if subset in task.dataset or subset != "default" else task.dataset


def find(name: str, mteb_type: str, family: str, also: Iterable[str] = ()) -> Any:
    """A task of mteb without its data: English where it has several languages, `test` where it has several splits.

    Args:
        also: names beside those of mteb that may have been meant.

    Raises:
        UserError: mteb has none of that name (the nearest of this type are given), or it is not one of this type, or
            it reads more than text, or has no English part, or only joins other tasks.
    """
    with mteb_calls():
        import mteb

        try:
            task = mteb.get_task(name)
        except KeyError:
            task = mteb.get_task(_spelled(name, mteb_type, family, also))
        metadata: Any = task.metadata
        called = f"{family}/{name}"
        if metadata.type != mteb_type:
            raise UserError(f"{called} is a task of type {metadata.type}; {family} takes those of type {mteb_type}")
        if task.is_aggregate:
            parts = ", ".join(f"{family}/{part}" for part in metadata.tasks)
            raise UserError(f"{called} only joins other tasks; name those: {parts}")
        if list(metadata.modalities) != ["text"]:
            raise UserError(f"{called} reads {', '.join(metadata.modalities)}; only tasks on text are measured here")
        if metadata.is_multilingual:
            task = task.filter_languages(["eng"], exclusive_language_filter=True)
            subsets = list(task.hf_subsets)
            if not subsets:
                raise UserError(f"{called} has no English part; name a task that has one")
            task.hf_subsets = [subset for subset in subsets if subset in _ENGLISH][:1] or sorted(subsets)
        if "test" in task.eval_splits:
            task.filter_eval_splits(["test"])
        return task


def _spelled(name: str, mteb_type: str, family: str, also: Iterable[str]) -> str:
    import mteb.tasks
    from mteb.abstasks import AbsTask

    # the classes, as mteb.get_tasks would make every one of them
    classes = [made for made in vars(mteb.tasks).values() if isinstance(made, type) and issubclass(made, AbsTask)]
    types = {made.metadata.name: made.metadata.type for made in classes}
    for known in types:
        if known.lower() == name.lower():
            return known
    raise unknown(f"task of {family}", name, {known for known in types if types[known] == mteb_type}.union(also))


def _mteb_version() -> str:
    return importlib.metadata.version("mteb")
