"""The command line's application, and the options that its commands share with `pytest suite/`.

Heavy libraries are imported inside the commands, so that `--help` answers at once.
"""

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from thawbench.suite.options import OPTIONS

app = typer.Typer(
    name="thawbench",
    help="Which part of a pretrained encoder should you thaw, for this task and this little data?",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)


def takes_options(*left_out: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the suite's own options, so that they cannot drift from those of `pytest suite/`.

    They arrive as `values`; what else the command takes is its own.
    """

    def give(command: Callable[..., None]) -> Callable[..., None]:
        own = [each for each in inspect.signature(command).parameters.values() if each.name != "values"]
        parameters = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own]
        for option in OPTIONS:
            if option.name in left_out:
                continue
            kind: Any = list[str] if option.many else bool if option.flag else str
            default: Any = [] if option.many else False if option.flag else option.default
            parameters.append(
                inspect.Parameter(
                    option.key,
                    inspect.Parameter.KEYWORD_ONLY,
                    default=default,
                    annotation=Annotated[
                        kind, typer.Option(f"--{option.name}", help=option.help, show_default=bool(option.default))
                    ],
                )
            )

        def called(**given: Any) -> None:
            mine = {each.name: given.pop(each.name) for each in own}
            defaults = {option.key: option.default for option in OPTIONS}
            command(values={**defaults, **given}, **mine)

        called.__name__, called.__doc__ = command.__name__, command.__doc__
        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return called

    return give
