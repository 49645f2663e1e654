"""The shape of a development cluster, where its files lie, and the slurm.conf that it runs on."""

import dataclasses
import json
import re
import socket
import zlib
from dataclasses import dataclass
from pathlib import Path

from thawbench.errors import UserError

# below the ports that Linux hands out for outgoing connections
_PORTS = range(10_000, 32_000)
_LONGEST_SOCKET = 107
_HOME = "127.0.0.1"

_CONF = """\
# written by python -m thawbench.slurm.devcluster
ClusterName={name}
SlurmctldHost={host}({home})
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
# how long a requeued job must wait; below 15 s it may meet its old step on the same node, which drains the node
AuthInfo=socket={socket},cred_expire=15
CredType=cred/munge
StateSaveLocation={controller}/state
SlurmctldPidFile={controller}/slurmctld.pid
SlurmctldLogFile={controller}/slurmctld.log
SlurmdSpoolDir={folder}/%n/spool
SlurmdPidFile={folder}/%n/slurmd.pid
SlurmdLogFile={folder}/%n/slurmd.log
SlurmctldDebug=info
SlurmdDebug=info
MpiDefault=none
# no cgroups: memory is polled, and a job over its limit is killed within two seconds
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
AccountingStorageType=accounting_storage/none
# a node has the CPUs and the memory of its line here, whatever the machine has
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
DefMemPerCPU={memory_per_cpu}
PropagateResourceLimits=NONE
ReturnToService=2
SchedulerType=sched/backfill
# without batch_sched_delay=0 a job waits for up to three seconds more
SchedulerParameters=sched_min_interval=0,batch_sched_delay=0,sched_interval=5,bf_interval=5,requeue_setup_env_fail
MaxArraySize=1001
MaxJobCount=10000
MinJobAge=300
JobRequeue=1
KillWait=2
InactiveLimit=0
SlurmctldTimeout=30
SlurmdTimeout=30
MessageTimeout=20
{listen}"""


@dataclass(frozen=True)
class Shape:
    """How large a cluster is, and where it listens.

    Attributes:
        nodes: how many slurmd there are; they are named node1, node2, ….
        cpus: of each node. More than the machine has is fine.
        memory_mb: of each node.
        port: of slurmctld; the nodes' follow it.
    """

    nodes: int
    cpus: int
    memory_mb: int
    port: int

    def __post_init__(self) -> None:
        for name in ("nodes", "cpus", "memory_mb"):
            if getattr(self, name) < 1:
                raise UserError(f"{name} is {getattr(self, name)}; a cluster needs at least 1")


@dataclass(frozen=True)
class Layout:
    """Where the files of a cluster lie.

    The daemons work in folders of their own, and so do the steps of jobs: by that each is found to belong here.
    """

    folder: Path

    def __post_init__(self) -> None:
        trouble = ""
        if not re.fullmatch(r"[A-Za-z0-9/._+-]+", str(self.folder)):
            trouble = "SLURM takes paths of letters, digits and /._+- only"
        elif len(str(self.socket)) > _LONGEST_SOCKET:
            trouble = f"a socket in it would have a path of more than {_LONGEST_SOCKET} characters"
        if trouble:
            raise UserError(f"folder {self.folder}: {trouble}; choose another with --folder")

    @property
    def conf(self) -> Path:
        return self.folder / "slurm.conf"

    @property
    def munge(self) -> Path:
        return self.folder / "munge"

    @property
    def socket(self) -> Path:
        return self.munge / "socket"

    @property
    def controller(self) -> Path:
        return self.folder / "controller"

    def node(self, name: str) -> Path:
        return self.folder / name

    def read_shape(self) -> Shape | None:
        """The shape that was last written; None if there never was a cluster here."""
        try:
            return Shape(**json.loads((self.folder / "shape.json").read_text(encoding="utf-8")))
        except FileNotFoundError:
            return None

    def write(self, shape: Shape, user: str) -> None:
        """Make the folders, slurm.conf, and a note of the shape."""
        spools = [self.node(name) / "spool" for name in node_names(shape)]
        for folder in (self.munge, self.controller / "state", *spools):
            folder.mkdir(parents=True, exist_ok=True)
        self.conf.write_text(_conf(self, shape, user), encoding="utf-8")
        (self.folder / "shape.json").write_text(json.dumps(dataclasses.asdict(shape)) + "\n", encoding="utf-8")


def node_names(shape: Shape) -> tuple[str, ...]:
    """The nodes, in order."""
    return tuple(f"node{place}" for place in range(1, shape.nodes + 1))


def free_ports(folder: Path, count: int) -> int:
    """The first of `count` free ports in a row. Which, depends on the folder: two clusters do not look at the same."""
    begin = _number(folder)
    for attempt in range(1000):
        port = _PORTS.start + (begin + attempt * count) % (len(_PORTS) - count)
        if all(_is_free(port + offset) for offset in range(count)):
            return port
    raise UserError(f"no {count} free ports in a row between {_PORTS.start} and {_PORTS.stop}")


def _number(folder: Path) -> int:
    return zlib.crc32(str(folder).encode())


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError:
            return False
        return True


def _conf(layout: Layout, shape: Shape, user: str) -> str:
    host = socket.gethostname().partition(".")[0]
    # With these, daemons listen where the host's name points, else on all addresses. Only the first can be reached at
    # 127.0.0.1. On all of them munge's key, which is this cluster's own, keeps others out.
    listen = "CommunicationParameters=NoCtldInAddrAny,NoInAddrAny\n" if _address(host) == _HOME else ""
    head = _CONF.format(
        name=f"thawbench_{_number(layout.folder):08x}",
        host=host,
        home=_HOME,
        port=shape.port,
        user=user,
        socket=layout.socket,
        controller=layout.controller,
        folder=layout.folder,
        memory_per_cpu=max(1, shape.memory_mb // shape.cpus),
        listen=listen,
    )
    nodes = "".join(
        f"NodeName={name} NodeHostname={host} NodeAddr={_HOME} Port={shape.port + place} "
        f"CPUs={shape.cpus} RealMemory={shape.memory_mb} State=UNKNOWN\n"
        for place, name in enumerate(node_names(shape), start=1)
    )
    names = ",".join(node_names(shape))
    return f"{head}{nodes}PartitionName=main Nodes={names} Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO\n"


def _address(host: str) -> str:
    try:
        return socket.gethostbyname(host)
    except OSError:
        return ""
