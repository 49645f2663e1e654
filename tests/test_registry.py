"""The registry: one class per name, found wherever it is, and a clear word when it is not."""

import importlib.metadata
import sys
from pathlib import Path

import pytest

from thawbench.errors import UserError
from thawbench.registry import Registry


def empty_package(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, **modules: str) -> str:
    """A package on the import path with these modules in it."""
    package = folder / name
    package.mkdir()
    (package / "__init__.py").write_text("")
    for module, text in modules.items():
        (package / f"{module}.py").write_text(text)
    monkeypatch.syspath_prepend(folder)
    return name


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry[object]:
    return Registry("strategy", empty_package(tmp_path, monkeypatch, "nothing_here"), "no.such.group")


def test_a_registered_class_is_found_by_its_name(registry: Registry[object]) -> None:
    @registry.register("mine")
    class Mine: ...

    assert registry.get("mine") is Mine
    assert registry.names() == ("mine",)


def test_names_are_sorted(registry: Registry[object]) -> None:
    for name in ("b", "c", "a"):
        registry.register(name)(type(name, (), {}))
    assert registry.names() == ("a", "b", "c")


def test_a_second_class_of_one_name_is_refused_and_both_places_are_named(registry: Registry[object]) -> None:
    first = type("First", (), {"__module__": "some.where"})
    second = type("Second", (), {"__module__": "else.where"})
    registry.register("mine")(first)
    with pytest.raises(UserError, match=r"two strategy classes are called 'mine': some\.where\.First and else\.where"):
        registry.register("mine")(second)
    assert registry.get("mine") is first


def test_the_same_class_may_be_registered_again(registry: Registry[object]) -> None:
    mine = type("Mine", (), {})
    registry.register("mine")(mine)
    assert registry.register("mine")(mine) is mine


def test_a_wrong_name_is_answered_with_the_nearest(registry: Registry[object]) -> None:
    registry.register("frozen_ebm")(type("X", (), {}))
    with pytest.raises(UserError, match=r"unknown strategy 'frozen_emb'; did you mean frozen_ebm\?"):
        registry.get("frozen_emb")


def test_an_entry_that_was_taken_out_is_gone_and_its_name_free(registry: Registry[object]) -> None:
    registry.register("mine")(type("First", (), {}))
    registry.unregister("mine")
    registry.unregister("mine")
    second = registry.register("mine")(type("Second", (), {}))
    assert registry.get("mine") is second


def test_modules_of_the_package_are_imported_at_the_first_miss_and_no_earlier(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = empty_package(
        tmp_path,
        monkeypatch,
        "built_in_things",
        one="from test_registry_host import registry\n\n\n@registry.register('one')\nclass One: ...\n",
        _private="raise RuntimeError('a private module is not for registering')\n",
        test_one="raise RuntimeError('a test belongs to pytest')\n",
        conftest="raise RuntimeError('a conftest belongs to pytest')\n",
    )
    host = type(sys)("test_registry_host")
    registry: Registry[object] = Registry("strategy", name, "no.such.group")
    vars(host)["registry"] = registry
    monkeypatch.setitem(sys.modules, "test_registry_host", host)
    early = registry.register("early")(type("Early", (), {}))
    assert registry.get("early") is early
    assert "built_in_things.one" not in sys.modules
    assert registry.get("one").__name__ == "One"
    assert registry.names() == ("early", "one")


def offer(monkeypatch: pytest.MonkeyPatch, group: str, name: str, value: str) -> None:
    point = importlib.metadata.EntryPoint(name=name, value=value, group=group)
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda *, group: (point,) if group == point.group else ())


def test_another_distribution_offers_a_class_by_an_entry_point(
    registry: Registry[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(monkeypatch, "no.such.group", "counter", "collections:Counter")
    assert registry.get("counter").__name__ == "Counter"


def test_an_entry_point_that_does_not_load_is_named(
    registry: Registry[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(monkeypatch, "no.such.group", "broken", "collections:NoSuchThing")
    with pytest.raises(UserError, match=r"plug-in 'broken' \(collections:NoSuchThing\) does not load: AttributeError"):
        registry.names()


def test_an_entry_point_may_not_take_the_name_of_a_registered_class(
    registry: Registry[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.register("counter")(type("Mine", (), {}))
    offer(monkeypatch, "no.such.group", "counter", "collections:Counter")
    with pytest.raises(UserError, match=r"two strategy classes are called 'counter'.*collections\.Counter"):
        registry.names()


def test_the_built_in_registries_hold_what_the_first_release_promises() -> None:
    from thawbench.registry import families, strategies

    assert {"random_vectors", "constant", "majority", "tfidf", "untrained", "frozen"} <= set(strategies.names())
    assert {"sts", "ir", "classify"} <= set(families.names())
