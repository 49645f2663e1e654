"""The clusters that tests run on: mark such a test `slurm`."""

from collections.abc import Iterator

import pytest

from thawbench.slurm import devcluster
from thawbench.slurm.devcluster import Cluster


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two nodes with two CPUs each, started by the first test that asks. Each worker of `pytest -n` has its own."""
    if reason := devcluster.unavailable():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("slurm")
    try:
        yield devcluster.up(folder)
    finally:
        there = devcluster.find(folder)
        if there is not None:
            there.down()


@pytest.fixture
def on_cluster(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """The cluster, whole and idle; this process's sbatch, squeue, … talk to it. What a test leaves is ended."""
    shape = cluster.shape
    devcluster.up(cluster.folder, nodes=shape.nodes, cpus=shape.cpus, memory_mb=shape.memory_mb)
    for name, value in cluster.environment.items():
        monkeypatch.setenv(name, value)
    yield cluster
    cluster.start_controller()
    cluster.clear()
