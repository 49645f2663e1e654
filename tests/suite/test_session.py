"""What a run sets for its whole process."""

import os
import subprocess
import sys


def test_threads_hold_for_torch_and_for_every_matrix_library_however_late_it_is_loaded() -> None:
    said = subprocess.run(
        [sys.executable, "-c", _PROGRAM],
        capture_output=True,
        text=True,
        check=True,
        env={name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")},
    ).stdout.split()
    assert said[0] == "1"
    assert len(said) >= 3, "numpy's and scipy's own pools are among them"
    assert set(said) == {"1"}


_PROGRAM = """
from thawbench.suite.session import prepare
prepare(1)
import scipy.linalg, sklearn.linear_model, threadpoolctl, torch
print(torch.get_num_threads(), *(pool["num_threads"] for pool in threadpoolctl.threadpool_info()))
"""
