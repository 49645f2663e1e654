"""What a record says of where it was made: versions, commit, processor, memory."""

import functools
import importlib.metadata
import json
import platform
import subprocess
from pathlib import Path

PACKAGES = (
    "thawbench",
    "torch",
    "transformers",
    "tokenizers",
    "mteb",
    "datasets",
    "scikit-learn",
    "scipy",
    "numpy",
    "safetensors",
    "peft",
)

SNAPSHOT = "snapshot.json"
"""In the package's folder, if it is the copy that a sweep made: {sha256, commit, dirty} of what it is a copy of."""


@functools.cache
def package_versions() -> dict[str, str]:
    """The versions of the packages that a score can depend on; ours with the hash of the code, if it is a snapshot."""
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    copied = _snapshot()
    if copied is not None:
        versions["thawbench"] = f"{versions.get('thawbench', '0')}+{copied['sha256']}"
    return versions


@functools.cache
def commit() -> tuple[str, bool]:
    """The commit of the source tree that runs, and whether it was changed since; ("", False) outside a checkout."""
    copied = _snapshot()
    if copied is not None:
        return str(copied["commit"]), bool(copied["dirty"])
    source = Path(__file__).resolve().parent
    git = ["git", "-C", str(source)]
    try:
        head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, timeout=10)
        if head.returncode != 0:
            return "", False
        status = subprocess.run([*git, "status", "--porcelain"], capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return "", False
    return head.stdout.strip(), bool(status.stdout.strip())


def _snapshot() -> dict[str, object] | None:
    try:
        read = json.loads((Path(__file__).resolve().parent.parent / SNAPSHOT).read_text())
    except (OSError, ValueError):
        return None
    return read if isinstance(read, dict) and {"sha256", "commit", "dirty"} <= read.keys() else None


@functools.cache
def processor() -> str:
    """The processor's name, as the kernel has it."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def reset_peak_memory() -> None:
    """Start the peak over; where the kernel does not let us, the peak is that of the whole process."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def peak_memory_mb() -> float:
    """The most resident memory since the last reset (VmHWM), in MB of 10^6 bytes; 0 where it cannot be known."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e6
    except OSError:
        pass
    return 0.0
