"""What is freed while a network is trained stays with the process, and is given back when it is done."""

import os
import resource
import subprocess
import sys

import pytest

glibc = pytest.mark.skipif(
    not (os.confstr("CS_GNU_LIBC_VERSION") or "").startswith("glibc"), reason="malloc is another's, and left alone"
)

PROGRAM = """
import resource, sys
from contextlib import nullcontext
import torch
from thawbench.strategies.heap import keeping_freed_memory

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()

def step():
    weights.grad = None
    weights.exp().sin().cos().mul(weights).sum().backward()

weights = torch.ones(2**23, requires_grad=True)
begun = resident()
with keeping_freed_memory() if sys.argv[1] == "kept" else nullcontext():
    for _ in range(4):
        step()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(6):
        step()
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
    held = resident() - begun
print(faults, held, resident() - begun)
"""
ONE = 4 * 2**23
"""Bytes of a tensor, of which a step has seven or so."""


def run(mode: str, **environment: str) -> tuple[float, float, float]:
    """In tensors: what was fetched by six steps after the first, what is held at the end of the block, and after it."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_"))}
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM, mode], env={**plain, **environment}, capture_output=True, text=True, check=True
    )
    faults, held, left = map(int, found.stdout.split())
    return faults * resource.getpagesize() / ONE, held / ONE, left / ONE


@glibc
def test_steps_after_the_first_fetch_no_page_and_all_is_given_back_at_the_end() -> None:
    fetched, held, left = run("kept")

    assert fetched < 6  # less than one of a step's seven
    assert held > 6
    assert left < 3


@glibc
def test_without_it_every_step_fetches_them_again() -> None:
    assert run("plain")[0] > 6 * 6


@glibc
@pytest.mark.parametrize("own", ["MALLOC_TRIM_THRESHOLD_", "GLIBC_TUNABLES"])
def test_what_the_user_says_of_malloc_stays(own: str) -> None:
    said = "131072" if own.startswith("MALLOC") else "glibc.malloc.trim_threshold=131072"

    assert run("kept", **{own: said})[0] > 6 * 6
