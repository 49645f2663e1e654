"""Where `auto` takes bfloat16."""

import pytest

from thawbench.strategies import precision
from thawbench.strategies.precision import bfloat16_pays, instructions_pay, named_device, resolve_precision


@pytest.mark.parametrize(
    ("has", "intel", "pays"),
    [
        ({"avx2"}, False, False),
        ({"avx2"}, True, False),
        ({"avx512_f", "avx512_bf16"}, False, True),  # AMD from Zen 4 on: twice float32's rate
        ({"avx512_f", "avx512_bf16"}, True, False),  # Sapphire Rapids whose AMX a hypervisor hides
        ({"avx512_f", "avx512_bf16", "amx_bf16"}, True, True),
        ({"bf16"}, False, True),  # Arm
    ],
)
def test_bfloat16_is_taken_only_where_it_is_faster(has: set[str], intel: bool, pays: bool) -> None:
    assert instructions_pay(has, intel) is pays


def test_auto_asks_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    for pays, name in ((True, "bfloat16"), (False, "float32")):
        monkeypatch.setattr(precision, "instructions_pay", lambda has, intel, pays=pays: pays)
        assert bfloat16_pays("cpu") is pays
        assert resolve_precision("auto", "cpu") == name
    assert resolve_precision("auto", "mps") == "float32"


def test_processors_instructions_are_names(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[set[str]] = []

    def note(has: set[str], intel: bool) -> bool:
        asked.append(has)
        return False

    monkeypatch.setattr(precision, "instructions_pay", note)
    bfloat16_pays("cpu")
    assert len(asked) == 1
    assert "l2_cache_size" not in asked[0]  # a number is no instruction set


def test_a_gpu_is_called_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.get_device_name", lambda: "NVIDIA H200")
    assert named_device("cuda") == "cuda: NVIDIA H200"
    assert named_device("cpu") == "cpu"
