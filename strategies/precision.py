"""Where an encoder runs and in which precision, decided once and recorded."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, cast, get_args

import torch

from thawbench.errors import UserError, unknown

Precision = Literal["float32", "bfloat16"]
DEVICES = ("cpu", "cuda", "mps")


def resolve_device(device: str = "auto") -> str:
    """`cuda`, `mps` or `cpu`; `auto` takes the first of these that is there.

    Raises:
        UserError: not one of these, or not on this machine.
    """
    available = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if device == "auto":
        return next(name for name, there in available.items() if there)
    if device not in DEVICES:
        raise unknown("device", device, (*DEVICES, "auto"))
    if not available[device]:
        raise UserError(f"device {device!r} is not available to this installation of torch; use `auto` or `cpu`")
    return device


def resolve_precision(precision: str, device: str) -> Precision:
    """`float32` or `bfloat16`; `auto` takes bfloat16 only where the device multiplies it faster.

    Raises:
        UserError: not one of these.
    """
    if precision == "auto":
        return "bfloat16" if bfloat16_pays(device) else "float32"
    if precision not in get_args(Precision):
        raise unknown("precision", precision, (*get_args(Precision), "auto"))
    return cast(Precision, precision)


def bfloat16_pays(device: str) -> bool:
    """Whether products of bfloat16 matrices are instructions of the device that are faster than those of float32.

    By what the processor is, never by a stopwatch: the precision is part of a cell's key.
    """
    if device == "cuda":
        return torch.cuda.get_device_capability() >= (8, 0)
    if device == "cpu":
        if hasattr(torch.cpu, "get_capabilities"):
            has = {name for name, there in torch.cpu.get_capabilities().items() if there is True}
        else:  # torch before 2.10 has no public way to ask
            asked = {"avx512_bf16": torch.cpu._is_avx512_bf16_supported, "amx_bf16": torch.cpu._is_amx_tile_supported}
            has = {name for name, ask in asked.items() if ask()}
        return instructions_pay(has, _made_by_intel())
    return False


def instructions_pay(has: Collection[str], intel: bool) -> bool:
    """Whether these instruction sets of a CPU make bfloat16 faster.

    Intel's AVX-512 multiplies bfloat16 at half as many instructions a cycle as float32, each of twice as many numbers,
    and the conversions come on top: an encoder is 0.6 times as fast in it (measured, two cores of a Xeon whose AMX is
    hidden from its guests). Intel's gain is AMX; AMD's AVX-512 has twice the rate.
    """
    slow = {"avx512_bf16"} if intel else set()
    return not {"avx512_bf16", "amx_bf16", "avx10_2", "bf16"}.isdisjoint(set(has) - slow)


def _made_by_intel() -> bool:
    try:
        return "GenuineIntel" in Path("/proc/cpuinfo").read_text()
    except OSError:
        return False


def device_model(device: str) -> str:
    """What kind of processor it is, as far as it can change the bits of a result."""
    if device == "cuda":
        return str(torch.cuda.get_device_name())
    return torch.backends.cpu.get_cpu_capability() if device == "cpu" else device


def named_device(device: str) -> str:
    """The device's kind with a GPU's name, `cuda: NVIDIA H200`: the kind does not tell whose seconds they are."""
    return f"{device}: {device_model(device)}" if device == "cuda" else device


@contextmanager
def computing_in(precision: Precision, device: str) -> Iterator[None]:
    """bfloat16 by autocast: products in bfloat16, the weights and what is sensitive stay in float32."""
    with torch.autocast(device, dtype=torch.bfloat16, enabled=precision == "bfloat16"):
        yield
