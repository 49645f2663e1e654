"""One run over a plan, whoever drives it: pytest or the command line."""

import logging
import os
import warnings
from dataclasses import dataclass

from thawbench.contracts import Budget
from thawbench.suite.options import Settings
from thawbench.suite.plan import Plan, Request, make_plan
from thawbench.suite.runner import Outcome, Runner, trouble


@dataclass(frozen=True)
class Session:
    """A plan, and the runner that works it off."""

    plan: Plan
    runner: Runner

    def run(self, position: int) -> Outcome:
        """Run the plan's cell at `position`, or find it recorded."""
        return self.runner.run(self.plan.cells[position])

    def trouble(self, outcome: Outcome) -> str:
        """Why the outcome is red; empty if it is not. Floors speak of the profile's own backbone."""
        profile = self.plan.profile
        floors = {}
        if self.plan.backbone.name == profile.backbone:
            floors = dict(profile.floors.get(outcome.record.strategy, {}))
        return trouble(outcome, floors)


def open_session(settings: Settings) -> Session:
    """Plan what the settings ask for, and open its folder of results.

    Raises:
        UserError: a name that does not exist, data that cannot be had, a folder that cannot be written.
    """
    prepare(settings.threads)
    plan = plan_of(settings)
    runner = Runner(
        settings.results,
        plan.cells,
        fresh=settings.fresh,
        keep_checkpoints=settings.keep_checkpoints,
        cell_timeout=settings.cell_timeout,
    )
    return Session(plan, runner)


def plan_of(settings: Settings) -> Plan:
    """The plan alone: nothing is written."""
    return make_plan(
        Request(
            strategies=settings.strategy,
            tasks=settings.task,
            profile=settings.profile,
            backbone=settings.backbone,
            seeds=settings.seeds,
            precision=settings.precision,
            device=settings.device,
            sets=settings.set,
            budget=Budget(steps=settings.steps),
        )
    )


def prepare(threads: int | None) -> None:
    """Set what holds for the whole process: threads, and quiet from libraries that talk to someone else."""
    if threads is not None:
        _keep_to(threads)
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # its threads and a fork do not go together
    for name in ("mteb", "datasets", "transformers", "huggingface_hub", "httpx", "filelock"):
        logging.getLogger(name).setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module=r"(mteb|datasets|transformers|huggingface_hub|sklearn)\b")


def _keep_to(threads: int) -> None:
    """torch's threads and those of numpy's and scipy's matrix libraries, loaded already or not yet.

    They have pools of their own: on two cores, two processes of one torch thread each would read out on four.
    """
    import torch
    from threadpoolctl import threadpool_limits

    torch.set_num_threads(threads)
    threadpool_limits(threads)
    for pool in ("OMP", "OPENBLAS", "MKL"):
        os.environ[f"{pool}_NUM_THREADS"] = str(threads)
