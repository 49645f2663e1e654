"""A strategy out of a user's own file: `--strategy=path/to/my_idea.py`."""

import hashlib
import importlib.util
import os
import sys
import traceback
from dataclasses import is_dataclass
from pathlib import Path

from thawbench.contracts import Strategy
from thawbench.errors import UserError
from thawbench.registry import strategies

_loaded: dict[Path, tuple[str, str]] = {}


def load_strategy_file(path: str) -> tuple[str, str]:
    """Import a file whose one class registers itself as a strategy.

    The same file may be loaded again; if it was edited in between, the class is replaced.

    Returns:
        The registered name, and the file's SHA-256, which is the strategy's version.

    Raises:
        UserError: no such file, it does not import, or it registers no strategy, several, or a name that is taken.
    """
    file = Path(path).resolve()
    try:
        content = file.read_bytes()
    except OSError as error:
        raise UserError(f"the strategy file {path} cannot be read: {os.strerror(error.errno or 0)}") from None
    version = hashlib.sha256(content).hexdigest()
    if file in _loaded:
        name, loaded_version = _loaded[file]
        if loaded_version == version:
            return name, version
        strategies.unregister(name)
        del _loaded[file]

    before = set(strategies.names())  # looks everywhere first, so that a taken name is refused here and not later
    try:
        _import(file, content, f"thawbench_file_{file.stem}_{version[:12]}", path)
        found = sorted(set(strategies.names()) - before)
        if not found:
            raise UserError(
                f'{path} registers no strategy; put @strategies.register("name") above its class '
                "(from thawbench.registry import strategies)"
            )
        if len(found) > 1:
            raise UserError(f"{path} registers {len(found)} strategies ({', '.join(found)}); keep one to a file")
        _check_declared(strategies.get(found[0]), path)
    except UserError:
        for name in set(strategies.names()) - before:
            strategies.unregister(name)
        raise
    _loaded[file] = found[0], version
    return _loaded[file]


def _check_declared(kind: type[Strategy], path: str) -> None:
    """See that a plan can be made with it; the conformance kit asks for more."""
    for name in ("name", "version", "Config", "consumes", "provides", "draws", "fit", "restore"):
        if not hasattr(kind, name):
            raise UserError(
                f"{path}: {kind.__name__} has no {name}; derive it from BaseStrategy (thawbench.strategies.base)"
            )
    if not is_dataclass(kind.Config):
        raise UserError(f"{path}: {kind.__name__}.Config is no dataclass; write @dataclass(frozen=True) above it")
    for name in ("consumes", "provides", "draws"):
        if not isinstance(found := getattr(kind, name), frozenset):
            raise UserError(f"{path}: {name} of {kind.__name__} is {found!r}; it must be a frozenset")


def _import(file: Path, content: bytes, module_name: str, path: str) -> None:
    spec = importlib.util.spec_from_loader(module_name, loader=None, origin=os.fspath(file))
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    module.__file__ = os.fspath(file)
    sys.modules[module_name] = module  # dataclasses and type hints look their module up
    try:
        # the bytes that were hashed are the ones that run; no .pyc is left beside the user's file
        exec(compile(content, os.fspath(file), "exec"), module.__dict__)
    except UserError as error:
        del sys.modules[module_name]
        raise UserError(f"{path}: {error}") from None
    except SyntaxError as error:
        del sys.modules[module_name]
        raise UserError(f"{path}, line {error.lineno}: {error.msg}") from None
    except Exception as error:
        del sys.modules[module_name]
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
        where = f", line {lines[-1]}" if lines else ""
        raise UserError(f"{path}{where}: {type(error).__name__}: {' '.join(str(error).split())}") from error
