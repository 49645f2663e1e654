"""What is said of a Hub that cannot be asked."""

import socket

import pytest

from thawbench.suite.doctor import hub


@pytest.fixture(autouse=True)
def _direct(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)


@pytest.mark.parametrize("address", ["huggingface.co", "", "http://mirror:port"])
def test_what_is_no_address_is_one_line_with_the_way_out(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", address)

    said = hub()

    assert said.startswith(f"{address} is no Hub's address (")
    assert said.endswith("; set HF_ENDPOINT to one such as https://huggingface.co")


def test_a_hub_that_is_not_there_is_one_line_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:  # and does not listen
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
        monkeypatch.setenv("HF_ENDPOINT", address)
        said = hub()

    assert said.startswith(f"{address} does not answer (")
    assert said.endswith("; set HF_ENDPOINT to a mirror, or use what is cached")
