"""The train sets `corpus/<name>`: the documents of a retrieval task, as its evaluation encodes them."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from thawbench.tasks.ir import Ir
from thawbench.tasks.pool import Pool


@dataclass(frozen=True)
class Corpus:
    """Texts without labels: neither queries nor judgements can be reached from here.

    Attributes:
        body: the retrieval task's name without its family, in whatever case.
    """

    body: str
    version: ClassVar[int] = 1

    @property
    def name(self) -> str:
        """`corpus/` and the task's name in lower case."""
        return self._task.corpus

    @property
    def data(self) -> str:
        """The task's data set on the Hub."""
        return self._task.listing.data

    @property
    def revision(self) -> str:
        """The task's revision."""
        return self._task.revision

    def load(self) -> Pool:
        """Every document's title and text, empty ones and repeated ones too.

        Raises:
            DataUnavailableError: not to be had.
        """
        return Pool(texts=self._task.documents(self._task.load()))

    @cached_property
    def _task(self) -> Ir:
        return Ir.resolve(self.body)
