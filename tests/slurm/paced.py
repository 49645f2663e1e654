"""A strategy, given as a file, that waits at gates and misbehaves by its seed, so that faults meet a sweep in time.

Of 20 seeds in a row the first five need no gate; five wait for gate 1, five for gate 2, and five for gate 3. The gates
are files in the folder of the variable PACED_GATES; without it, all stand open. With PACED_EATS, one eats memory.
"""

import os
import time
from pathlib import Path

import numpy as np

from thawbench.contracts import Adapt, Budget, FloatArray, Seeds, State, TrainSet
from thawbench.registry import strategies
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.base import BaseStrategy, Learned

RAISES, EATS = 30, 79


@strategies.register("paced")
class Paced(BaseStrategy):
    """Scales the first components of a vector by numbers that come from the seed."""

    name = "paced"
    consumes = frozenset()
    draws = frozenset({"init"})

    def learn(self, start: AdaptedEncoder, data: TrainSet, *, seeds: Seeds, budget: Budget, adapt: Adapt) -> Learned:
        gates, gate = os.environ.get("PACED_GATES"), seeds.init % 20 // 5
        while gates and gate and not (Path(gates) / str(gate)).exists():
            time.sleep(0.05)
        if seeds.init == RAISES:
            raise RuntimeError("asked to")
        eaten: list[bytes] = []
        while seeds.init == EATS and "PACED_EATS" in os.environ and len(eaten) < 60:
            eaten.append(b"x" * 2**26)
            time.sleep(0.1)
        weights = np.random.default_rng(seeds.init).uniform(0.2, 2, 8)
        return Learned({"weights": weights.astype(np.float32)})

    def transform(self, vectors: FloatArray, state: State) -> FloatArray:
        scaled = vectors.copy()
        scaled[:, :8] *= state.tensors["weights"]
        return scaled
