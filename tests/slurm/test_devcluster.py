"""The development cluster: what it starts, what it leaves alone, and the faults that it can be given."""

import os
import re
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from thawbench.errors import UserError
from thawbench.slurm import devcluster
from thawbench.slurm import devcluster_processes as processes
from thawbench.slurm.devcluster import Cluster, main
from thawbench.slurm.devcluster_config import Layout, Shape, free_ports

on_slurm = pytest.mark.slurm


def pids(cluster: Cluster) -> set[int]:
    layout = cluster.layout
    return processes.of_munge(layout) | processes.of_controller(layout) | processes.of_node(layout)


def submit(cluster: Cluster, script: str, *options: str) -> str:
    where = ("--chdir", str(cluster.folder), "--output", str(cluster.folder / "job-%A-%a.out"))
    return cluster.run("sbatch", "--parsable", *where, *options, "--wrap", script).strip()


def wait_until(condition: Callable[[], bool], within_s: float = 60.0) -> None:
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def wait_for_state(cluster: Cluster, job: str, state: str) -> None:
    wait_until(lambda: cluster.jobs().get(job) == state)


@on_slurm
def test_a_job_over_two_nodes_runs_on_both(cluster: Cluster) -> None:
    out = cluster.run("srun", "--nodes=2", "--ntasks=2", "printenv", "SLURMD_NODENAME")
    assert sorted(out.split()) == ["node1", "node2"]


@on_slurm
def test_as_many_jobs_run_at_once_as_there_are_cpus(on_cluster: Cluster) -> None:
    array = submit(on_cluster, "exec sleep 100", "--array=0-4", "--mem=100")
    wait_until(lambda: sorted(on_cluster.jobs().values()) == ["PENDING", *["RUNNING"] * 4])
    assert set(on_cluster.jobs()) == {f"{array}_{task}" for task in range(5)}


@on_slurm
def test_up_leaves_what_runs_alone_and_starts_what_is_missing(on_cluster: Cluster) -> None:
    before = pids(on_cluster)
    assert devcluster.up(on_cluster.folder) == on_cluster
    assert pids(on_cluster) == before

    on_cluster.kill_node("node2")
    assert on_cluster.running() == {"munged": True, "slurmctld": True, "node1": True, "node2": False}
    devcluster.up(on_cluster.folder)
    assert all(on_cluster.running().values())
    assert len(pids(on_cluster) & before) == len(before) - 1


@on_slurm
def test_up_refuses_another_shape_while_one_runs(cluster: Cluster) -> None:
    with pytest.raises(UserError, match=r"a cluster of 2 nodes with 2 CPUs and 8000 MB each; stop it"):
        devcluster.up(cluster.folder, nodes=3)


@on_slurm
def test_two_clusters_live_side_by_side_and_each_stops_its_own(
    on_cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(tmp_path / "other")
    job = submit(on_cluster, "exec sleep 100")
    wait_for_state(on_cluster, job, "RUNNING")
    wait_until(lambda: len(processes.of_job(on_cluster.layout, job)) > 0)  # it runs a moment before its script does
    before = pids(on_cluster) | processes.of_job(on_cluster.layout, job)
    try:
        assert main(["up", "--folder", folder, "--nodes", "3", "--cpus", "5", "--memory-mb", "1000"]) == 0
        assert f"export SLURM_CONF={folder}/slurm.conf" in capsys.readouterr().out
        other = devcluster.find(Path(folder))
        assert other is not None
        assert other.shape.port != on_cluster.shape.port
        assert other.jobs() == {}
        assert other.run("sinfo", "--noheader", "--format=%D %c %m").split() == ["3", "5", "1000"]
        assert int(submit(other, "exec sleep 100")) == 1
        assert main(["status", "--folder", folder]) == 0
        assert re.search(r"node1 (idle|mixed), node2 idle, node3 idle\njobs +1\n", capsys.readouterr().out)
    finally:
        main(["down", "--folder", folder])
    assert not any(other.running().values())
    assert processes.of_steps(other.layout) == set()
    assert main(["status", "--folder", folder]) == 3
    assert "slurmctld    stopped" in capsys.readouterr().out
    assert pids(on_cluster) | processes.of_job(on_cluster.layout, job) == before

    # ids go on, so that what was kept under an id is not taken for another job's
    again = devcluster.up(Path(folder), nodes=1)
    try:
        assert again.nodes == ("node1",)
        assert int(submit(again, "true")) == 2
    finally:
        again.down()


@on_slurm
def test_a_killed_job_fails_and_its_neighbour_goes_on(on_cluster: Cluster) -> None:
    array = submit(on_cluster, "sleep 100; true", "--array=0-1", "--no-requeue")
    wait_until(lambda: set(on_cluster.jobs().values()) == {"RUNNING"})
    wait_until(lambda: len(processes.of_job(on_cluster.layout, f"{array}_1")) == 2)
    on_cluster.kill_job(f"{array}_0")
    wait_until(lambda: on_cluster.jobs() == {f"{array}_1": "RUNNING"})
    assert "JobState=FAILED" in on_cluster.run("scontrol", "show", "job", f"{array}_0")
    assert len(processes.of_job(on_cluster.layout, f"{array}_1")) == 2


@on_slurm
def test_a_lost_node_takes_its_jobs_with_it_and_can_come_back(on_cluster: Cluster) -> None:
    job = submit(on_cluster, "sleep 100; true", "--nodelist=node2")
    wait_for_state(on_cluster, job, "RUNNING")
    on_cluster.kill_node("node2", noticed=True)
    assert processes.of_steps(on_cluster.layout) == set()
    assert on_cluster.node_states() == {"node1": "idle", "node2": "down"}
    assert on_cluster.jobs() == {job: "PENDING"}  # requeued
    on_cluster.start_node("node2")
    assert on_cluster.node_states() == {"node1": "idle", "node2": "idle"}


def test_a_node_that_comes_back_by_itself_while_it_is_resumed_is_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Cluster(Layout(tmp_path), Shape(1, 1, 1000, 30000))
    states = iter(["down", "idle"])
    tried: list[tuple[str, ...]] = []

    def refuse(self: Cluster, *command: str) -> str:
        tried.append(command)
        raise UserError("scontrol: slurm_update error: Invalid node state specified")

    monkeypatch.setattr(Cluster, "node_states", lambda self: {"node1": next(states)})
    monkeypatch.setattr(Cluster, "run", refuse)
    cluster._wait_for(["node1"])

    assert tried == [("scontrol", "update", "nodename=node1", "state=resume")]


@on_slurm
def test_a_stopped_controller_answers_nothing_and_forgets_nothing(on_cluster: Cluster) -> None:
    job = submit(on_cluster, "exec sleep 100")
    wait_for_state(on_cluster, job, "RUNNING")
    on_cluster.stop_controller()
    assert not on_cluster.running()["slurmctld"]
    with pytest.raises(UserError, match="squeue has not answered for 1 s"):
        on_cluster.run("squeue", timeout_s=1)
    assert processes.of_job(on_cluster.layout, job)
    on_cluster.start_controller()
    assert on_cluster.jobs() == {job: "RUNNING"}


@on_slurm
def test_a_job_that_takes_more_memory_than_it_asked_for_is_killed(on_cluster: Cluster) -> None:
    eat = "python3 -c 'import time; eaten = b\"x\" * 400_000_000; time.sleep(60)'"
    job = submit(on_cluster, eat, "--mem=100")
    wait_until(lambda: job not in on_cluster.jobs())
    assert "exceeded memory limit" in (on_cluster.folder / f"job-{job}-4294967294.out").read_text()


@on_slurm
def test_clear_ends_running_and_waiting_jobs(on_cluster: Cluster) -> None:
    submit(on_cluster, "trap '' TERM; sleep 100; true", "--array=0-9")
    wait_until(lambda: "RUNNING" in on_cluster.jobs().values())
    on_cluster.clear()
    assert on_cluster.jobs() == {}
    assert processes.of_steps(on_cluster.layout) == set()


def test_missing_programs_are_named_with_the_packages_that_have_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = devcluster._find
    monkeypatch.setattr(devcluster, "_find", lambda name: None if name in ("munged", "slurmd") else found(name) or name)
    assert devcluster.unavailable() == (
        "munged, slurmd not found; on Debian or Ubuntu: apt-get install --no-install-recommends slurm-wlm munge"
    )
    with pytest.raises(UserError, match=r"^munged, slurmd not found"):
        devcluster.up(tmp_path / "cluster")
    assert not (tmp_path / "cluster").exists()


@pytest.mark.parametrize(
    ("folder", "told"), [("/tmp/a b", "letters, digits"), ("/tmp/" + "a" * 120, "more than 107 characters")]
)
def test_a_folder_that_slurm_or_a_socket_cannot_have_is_refused(folder: str, told: str) -> None:
    with pytest.raises(UserError, match=f"^folder {folder}: .*{told}.*--folder"):
        Layout(Path(folder))


def test_a_cluster_of_nothing_is_refused() -> None:
    with pytest.raises(UserError, match=r"^cpus is 0; a cluster needs at least 1"):
        Shape(nodes=2, cpus=0, memory_mb=100, port=10000)


def test_taken_ports_are_passed_over(tmp_path: Path) -> None:
    first = free_ports(tmp_path, 3)
    assert free_ports(tmp_path, 3) == first
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", first + 2))
        taken.listen()
        second = free_ports(tmp_path, 3)
    assert second >= first + 3
    assert free_ports(tmp_path / "other", 3) != first


def test_daemons_listen_on_loopback_only_where_the_hosts_name_allows(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    layout, shape = Layout(tmp_path), Shape(nodes=2, cpus=4, memory_mb=1000, port=12000)
    monkeypatch.setattr(socket, "gethostname", lambda: "box.example.org")
    for address, loopback in (("127.0.0.1", True), ("127.0.1.1", False), ("192.0.2.7", False)):
        monkeypatch.setattr(socket, "gethostbyname", lambda host, address=address: address)
        layout.write(shape, "ann")
        assert ("NoInAddrAny" in layout.conf.read_text()) is loopback
    lines = layout.conf.read_text().splitlines()
    assert "SlurmctldHost=box(127.0.0.1)" in lines
    assert "SlurmdUser=ann" in lines
    assert "DefMemPerCPU=250" in lines
    assert (
        lines[-2]
        == "NodeName=node2 NodeHostname=box NodeAddr=127.0.0.1 Port=12002 CPUs=4 RealMemory=1000 State=UNKNOWN"
    )
    assert layout.read_shape() == shape


def test_where_no_cluster_is_down_and_status_say_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["down", "--folder", os.fspath(tmp_path)]) == 0
    assert main(["status", "--folder", os.fspath(tmp_path)]) == 3
    assert capsys.readouterr().out == f"no cluster in {tmp_path}\n" * 2
