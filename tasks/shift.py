"""`shift/…`: one adaptation, tested on what it was trained on and on something else."""

from itertools import permutations
from typing import ClassVar

from thawbench.contracts import Task
from thawbench.errors import UserError, unknown
from thawbench.registry import families
from thawbench.tasks.domain_shift import DomainShift
from thawbench.tasks.fewshot import FewShot
from thawbench.tasks.ir import Ir
from thawbench.tasks.retrieval_shift import RetrievalShift
from thawbench.tasks.set_catalog import find_set, known_sets
from thawbench.tasks.train_noise import is_part, parse
from thawbench.tasks.word_shift import WordShift

_BLITZER = ("books", "dvd", "electronics", "kitchen", "airline")
_LISTED = (
    "world/meals@100~world/films",
    "world/nli~world",
    "sst2@100~imdb",
    "sst2@100~yelp2",
    *(f"{first}@100~{second}" for first, second in permutations(_BLITZER, 2)),
    "mnli@1000~snli",
    "snli@1000~mnli",
    "mnli@1000~climate_fever",
    "snli@1000~climate_fever",
)


@families.register("shift")
class Shift:
    """Three kinds of shift, by what stands behind the ~: a labelled set, a retrieval task, or nothing."""

    family: ClassVar[str] = "shift"

    @classmethod
    def resolve(cls, body: str) -> Task:
        """The first set with its n and its noise, and what to test on beside it.

        Raises:
            UserError: no such set (the nearest names are given), or two that do not go together.
        """
        first, tilde, second = body.rpartition("~")
        labelled = find_set(second) if tilde else None
        if not tilde or (labelled is None and is_part(second)):
            return WordShift.resolve(body)
        if "@" in second:
            raise UserError(f"{cls.family}/{body}: all test rows are taken; write @n behind the first set only")
        if labelled is not None:
            clean, noise = parse(first)
            return DomainShift(FewShot.resolve(clean), labelled, noise)
        try:
            search = Ir.resolve(second)
        except UserError:
            raise unknown(f"test set of {cls.family}/{first}~", second, {*known_sets(), *Ir.known()}) from None
        return RetrievalShift(first, search)

    @classmethod
    def known(cls) -> tuple[str, ...]:
        """Pairs of domains at the n that suits them, collections behind `nli`, and the sets with words left out."""
        searches = (f"nli~{name}" for name in Ir.known() if name != "world")
        return (*_LISTED, *searches, *(f"{name}@1000" for name in WordShift.known()))
