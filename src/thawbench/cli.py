"""The command line of `thawbench`: what a command takes and tells; what it does stands in the packages."""

import sys

from thawbench.cli_app import app
from thawbench.errors import UserError

# isort: off
from thawbench import cli_measure, cli_publish, cli_cluster, cli_look  # noqa: F401  # each adds its commands to the help
# isort: on

__all__ = ["app", "main"]


def main() -> None:
    """Entry point: a user's mistake is one line on stderr and exit code 2."""
    try:
        app()
    except UserError as error:
        print(f"thawbench: {error}", file=sys.stderr)
        sys.exit(2)
