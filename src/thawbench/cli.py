"""The command line of `thawbench`: what a command takes and tells; what it does stands in the packages.

Heavy libraries are imported inside the commands, so that `--help` answers at once.
"""

import enum
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from thawbench.errors import UserError
from thawbench.suite.options import OPTIONS, settings

app = typer.Typer(
    name="thawbench",
    help="Which part of a pretrained encoder should you thaw, for this task and this little data?",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
_MEASURE, _PUBLISH, _CLUSTER, _LOOK = "Measure", "Read and publish", "On a cluster", "Look around"
_LEFT_OUT_OF_PLAN = ("threads", "fresh", "keep-checkpoints")


def main() -> None:
    """Entry point: a user's mistake is one line on stderr and exit code 2."""
    try:
        app()
    except UserError as error:
        print(f"thawbench: {error}", file=sys.stderr)
        sys.exit(2)


def _takes_options(*left_out: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
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


@app.command(rich_help_panel=_MEASURE)
@_takes_options()
def run(values: dict[str, Any]) -> None:
    """Run the matrix, or a part of it; what is recorded already is not run again.

    The same as `pytest suite/` with the same options, with progress instead of tests. Some ways to begin:

    `thawbench run --strategy frozen --strategy frozen_ebm --task 'sts/*' --seeds 3`

    `thawbench run --strategy my_idea.py --task ir/SciFact:train=nli`

    `thawbench run --strategy frozen --backbone org/encoder@revision:pooling=cls`
    """
    from thawbench.suite.live import run_live

    if not run_live(settings(values), Console(stderr=False)):
        raise typer.Exit(1)


@app.command(rich_help_panel=_MEASURE)
@_takes_options(*_LEFT_OUT_OF_PLAN)
def plan(values: dict[str, Any]) -> None:
    """Show what `run` would do: the cells, how many are done, which adaptations they share."""
    from thawbench.suite.live import show_plan

    show_plan(settings(values), Console())


@app.command(rich_help_panel=_MEASURE)
@_takes_options("strategy", "fresh", "keep-checkpoints")
def tune(
    values: dict[str, Any],
    strategy: Annotated[str, typer.Argument(help="one strategy by its plain name, or a file my_idea.py")],
    field: Annotated[str, typer.Option(help="the field of its configuration to choose")],
    among: Annotated[str, typer.Option("--values", help="2 to 4 values, with commas between them")],
    out: Annotated[Path | None, typer.Option(help="the folder to write the choice to [strategies/tuned]")] = None,
) -> None:
    """Choose a strategy's default for one field by dev scores; test scores are not looked at.

    Without `--task`, on two sets of the embedded world, 100 rows each; without `--seeds`, on samples 100 and 101, as
    boards are made of samples below 100. Records go to the folder `tune` in the results, and are found again there.

    `thawbench tune frozen_ebm --field lr --values 3e-4,1e-3,3e-3`
    """
    from thawbench.suite.live import show_search

    show_search(strategy, field, among.split(","), settings(values), out, Console())


class Kind(enum.StrEnum):
    """What can be listed."""

    strategies = "strategies"
    tasks = "tasks"
    profiles = "profiles"
    trainsets = "trainsets"


@app.command(rich_help_panel=_CLUSTER)
@_takes_options("fresh")
def sweep(
    values: dict[str, Any],
    cluster: Annotated[
        str | None, typer.Option(help="slurm, local (processes here), debug (this process) [slurm]")
    ] = None,
    partition: Annotated[str | None, typer.Option(help="where jobs go to [the cluster's]")] = None,
    account: Annotated[str | None, typer.Option(help="who is charged [the cluster's]")] = None,
    qos: Annotated[str | None, typer.Option(help="the quality of service [the cluster's]")] = None,
    time: Annotated[
        int | None, typer.Option(help="minutes of a task, which then saves itself and goes on [60]")
    ] = None,
    mem_gb: Annotated[float | None, typer.Option(help="memory of a task in GiB [4]")] = None,
    cpus: Annotated[int | None, typer.Option(help="processors of a task [as many as threads, or 1]")] = None,
    gpus: Annotated[int | None, typer.Option(help="GPUs of a task [0]")] = None,
    array_parallelism: Annotated[int | None, typer.Option(help="tasks at once [as many as there is room for]")] = None,
    setup: Annotated[
        list[str] | None, typer.Option(help="a shell line before each task: `module load`; repeatable")
    ] = None,
    retries: Annotated[
        int | None, typer.Option(help="tries more after a crash, out of memory, out of time [2]")
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="follow until all is done; local and debug always do")] = False,
) -> None:
    """Send the matrix, or a part of it, to a SLURM cluster; the same command again sends what is missing.

    It takes what `run` takes. What the cluster is asked for may also stand in the table `[slurm]` of a file
    `thawbench.toml` where the command is given, with the options' names as keys. Records come into the results folder
    as cells end; `thawbench status`, `logs`, `retry` and `cancel` look after them. Exit code 1 if a cell failed.

    `thawbench sweep --profile served --seeds 5 --partition cpu --time 120 --threads 4`

    `thawbench sweep --cluster local --threads 1 --strategy 'frozen*'`
    """
    from thawbench.slurm.commands import run_sweep

    asked: dict[str, Any] = {"cluster": cluster, "partition": partition, "account": account, "qos": qos, "time": time}
    asked |= {"mem_gb": mem_gb, "cpus": cpus, "gpus": gpus, "array_parallelism": array_parallelism}
    asked |= {"setup": setup, "retries": retries}
    if not run_sweep(settings(values), asked, wait=wait, console=Console()):
        raise typer.Exit(1)


_Results = Annotated[Path, typer.Option(help="the folder of the sweep's records")]


@app.command(rich_help_panel=_CLUSTER)
def status(results: _Results = Path("results")) -> None:
    """Tell how a sweep stands: cells by state, strategy and family; jobs, elapsed, what is left; what failed."""
    from thawbench.slurm.status import show

    show(results, Console())


@app.command(rich_help_panel=_CLUSTER)
def logs(
    cell: Annotated[
        str, typer.Argument(help="the first digits of its key, or a part of its label: 'frozen sts/STS12'")
    ],
    results: _Results = Path("results"),
) -> None:
    """Print what a cell of a sweep wrote while it ran, on every try."""
    from thawbench.slurm.commands import show_logs

    show_logs(results, cell, Console())


@app.command(rich_help_panel=_CLUSTER)
def retry(
    results: _Results = Path("results"),
    wait: Annotated[bool, typer.Option("--wait", help="follow until all is done")] = False,
) -> None:
    """Send the failed cells of the last sweep again, with its options; what counted against them is forgotten."""
    from thawbench.slurm.commands import retry

    if not retry(results, wait=wait, console=Console()):
        raise typer.Exit(1)


@app.command(rich_help_panel=_CLUSTER)
def cancel(results: _Results = Path("results")) -> None:
    """Cancel the jobs of the sweeps of this folder, and no others; the sweep's command goes on from there."""
    from thawbench.slurm.commands import cancel

    cancel(results, Console())


@app.command(name="list", rich_help_panel=_LOOK)
def list_(kind: Annotated[Kind, typer.Argument(help="what to list")]) -> None:
    """List the strategies, tasks, profiles or train sets that have names here."""
    from thawbench.suite.listing import show

    show(kind.value, Console())


@app.command(rich_help_panel=_LOOK)
def doctor() -> None:
    """Tell what this machine offers: versions, device, bfloat16, the Hub, the caches and their size."""
    from thawbench.suite.doctor import show

    show(Console())


@app.command(rich_help_panel=_LOOK)
def world(
    rows: Annotated[bool, typer.Option("--show", help="some rows of each part, not only their number")] = False,
    seed: Annotated[int, typer.Option(help="which world; train sets and tasks read that of seed 0")] = 0,
) -> None:
    """Look at the embedded world, which the profile `mini` measures and the backbone `tiny` has read."""
    from thawbench.tasks.world import make_world
    from thawbench.tasks.world.show import show

    Console().print(show(make_world(seed), rows=rows), markup=False, highlight=False, soft_wrap=True)


@app.command(rich_help_panel=_MEASURE)
def check(
    strategy: Annotated[str, typer.Argument(help="a strategy such as frozen_ebm:norm=l2, or a file my_idea.py")],
    backbone: Annotated[str, typer.Option(help="what it is tried on")] = "tiny",
) -> None:
    """Check that a strategy keeps what every strategy promises: seeds, bytes, order, odd texts, the train rows alone.

    Exit code 1 if it fails a check.
    """
    from thawbench.suite.conformance_table import show

    if not show(strategy, backbone, Console()):
        raise typer.Exit(1)


@app.command(rich_help_panel=_PUBLISH)
def claims(
    results: Annotated[Path, typer.Option(help="the folder of records")] = Path("results"),
    folder: Annotated[
        Path | None, typer.Option(help="the folder of claims, a TOML file each [those that are published]")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="a page to write as well, such as CLAIMS.md")] = None,
    check: Annotated[
        bool, typer.Option("--check", help="write nothing; exit code 1 if the page is stale [--out CLAIMS.md]")
    ] = False,
) -> None:
    """Say what a folder of records makes of each claim: supported, refuted or undecided, and what would decide it.

    A claim is a sentence of a paper, and the comparison that decides it. Effects are times 100; more of them speaks for
    the claim, and those up to `Beyond` do not matter. The page has each claim's source, tasks and missing cells, with
    the commands that run these. `pytest suite/ -m claims --results DIR` shows every claim as a test.

    `thawbench claims --results leaderboard/records/served --out CLAIMS.md`
    """
    from thawbench.leaderboard.claim_statement import FOLDER
    from thawbench.leaderboard.claims import judge_folder
    from thawbench.suite.claim_check import check_names

    judged = judge_folder(results, folder or FOLDER, check_names)
    for note in judged.notes:
        print(f"note: {note}")
    print(judged.table())
    page = judged.page(out or Path("CLAIMS.md"))
    if check and page.stale:
        print(f"{page.path} is stale; renew it: thawbench claims --results {results} --out {page.path}")
        raise typer.Exit(1)
    if out and not check:
        page.write()
        print(f"wrote {page.path}")


@app.command(rich_help_panel=_PUBLISH)
def leaderboard(
    results: Annotated[Path, typer.Option(help="the folder of records")] = Path("results"),
    out: Annotated[
        list[Path] | None, typer.Option(help="a file to write: .md, .csv, .tex or .json", show_default="LEADERBOARD.md")
    ] = None,
    into: Annotated[
        list[Path] | None,
        typer.Option(help="a document whose blocks to renew, marked by the comments board: TABLE and /board"),
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="write nothing; exit code 1 if a file is stale")] = False,
) -> None:
    """Write the board of a folder of records: the same bytes for the same records."""
    from thawbench.leaderboard.publish import edition_of

    edition = edition_of(results, out or ([] if into else [Path("LEADERBOARD.md")]), into or [])
    for damage in edition.damaged:
        print(f"note: a damaged record is left out: {damage}")
    stale = [page for page in edition.pages if page.stale]
    for page in stale if check else ():
        option = "into" if page.path in (into or []) else "out"
        print(f"{page.path} is stale; renew it: thawbench leaderboard --results {results} --{option} {page.path}")
    if check and stale:
        raise typer.Exit(1)
    for page in () if check else edition.pages:
        page.write()
        print(f"wrote {page.path}")


@app.command(rich_help_panel=_PUBLISH)
def figures(
    out: Annotated[Path, typer.Option(help="the folder to draw into")],
    results: Annotated[Path, typer.Option(help="the folder of records")] = Path("results"),
    only: Annotated[list[str] | None, typer.Option(help="a figure's name; repeatable", show_default="all")] = None,
    dark: Annotated[bool, typer.Option("--dark", help="for a dark page, into files that end in -dark")] = False,
    png: Annotated[bool, typer.Option("--png", help="as .png in place of .svg")] = False,
) -> None:
    """Draw what a folder of records shows, a file for each figure and backbone: the same bytes for the same records.

    `sizes` is score against labelled rows, in domain and shifted, with the n at which tuning overtakes freezing, which
    `overtaking` has for every strategy. `costs`, `spread` over seeds, `ranks` with those that cannot be told apart,
    `relevance` against similarity, `shift`, `forgetting`, `noise`, `layers`, `geometry` and `probe` are the others. Of
    a figure that cannot be drawn it says which records are missing.

    `thawbench figures --results leaderboard/records/served --out docs/figures`

    `thawbench figures --out figures --only sizes --only spread --dark`
    """
    from thawbench.leaderboard.figures import draw_figures

    drawn = draw_figures(results, out, only or (), "dark" if dark else "light", "png" if png else "svg")
    for damage in drawn.damaged:
        print(f"note: a damaged record is left out: {damage}")
    for each in drawn.outcomes:
        print(f"wrote {each.path}" if each.path else f"not drawn: {each.name}; it needs {each.lacks}")


picture = typer.Typer(no_args_is_help=True, help="Draw a picture, as .svg or .png: of energies, or of layers.")
app.add_typer(picture, name="picture", rich_help_panel=_PUBLISH)


class Theme(enum.StrEnum):
    """What a picture is drawn on."""

    light = "light"
    dark = "dark"


class By(enum.StrEnum):
    """What a point is, and what colours it."""

    klass = "class"
    sentence = "sentence"


@picture.command()
def energy(
    out: Annotated[Path, typer.Option(help="the file to write, .svg or .png")],
    theme: Annotated[Theme, typer.Option(help="the page's colours")] = Theme.light,
) -> None:
    """Draw how the energy of a pair pulls at a vector under L1, L2 and cosine: lines of equal energy, and gradients.

    `thawbench picture energy --out energy.svg --theme dark`
    """
    from thawbench.leaderboard.picture_energy import draw_energy

    draw_energy(out, theme.value)
    print(f"wrote {out}")


@picture.command()
def layers(
    out: Annotated[Path, typer.Option(help="the file to write, .svg or .png")],
    texts: Annotated[str, typer.Option(help="whose texts: a labelled set, docs/… or corpus/…, @n or not")],
    by: Annotated[By, typer.Option(help="a text a point, by class, or a word a point, by sentence")] = By.klass,
    strategy: Annotated[str, typer.Option(help="what to draw below the backbone's layers")] = "frozen",
    train: Annotated[str, typer.Option(help="what the strategy learns from")] = "",
    backbone: Annotated[str, typer.Option(help="as in `run`")] = "embedded",
    theme: Annotated[Theme, typer.Option(help="the page's colours")] = Theme.light,
) -> None:
    """Draw every layer in the plane in which its vectors spread the most (PCA), before and after a strategy.

    Over a panel stands how much of the layer's variance its plane holds. The strategy is fitted for the picture, with
    seed 0, and not kept.

    `thawbench picture layers --texts world/meals --out layers.svg`

    `thawbench picture layers --texts sst2 --strategy finetune --train sst2@100 --out tuned.svg`

    `thawbench picture layers --texts stsb --by sentence --out words.svg`
    """
    from thawbench.suite.layer_picture import picture_layers

    picture_layers(out, texts, by.value, strategy, train, backbone, theme.value)
    print(f"wrote {out}")


class ExportFormat(enum.StrEnum):
    """What records can be written as."""

    records = "records"
    mteb = "mteb"


@app.command(name="export", rich_help_panel=_PUBLISH)
def export_(
    out: Annotated[Path, typer.Option(help="the file, say mine.jsonl.gz; of --format mteb a folder")],
    results: Annotated[Path, typer.Option(help="the folder of records")] = Path("results"),
    form: Annotated[
        ExportFormat, typer.Option("--format", help="records, for import; or mteb, its result files for ir and sts")
    ] = ExportFormat.records,
) -> None:
    """Pack the records of a folder for another folder, or for MTEB.

    Records go into one file of JSON lines, each with its SHA-256, compressed if its name ends in `.gz`: the same bytes
    for the same records, without tracebacks and without rows. `thawbench import` takes them in.

    `thawbench export --out mine.jsonl.gz`

    `thawbench export --format mteb --out mine`, then in Python `mteb.ResultCache("mine").load_results()`
    """
    if form is ExportFormat.mteb:
        from thawbench.suite.mteb_results import write_mteb_results

        given = write_mteb_results(results, out)
        for why in given.left_out:
            print(f"note: left out: {why}")
        print(f"wrote {given.files} result files of MTEB under {out}")
        return
    from thawbench.leaderboard.exchange import export_records

    departure = export_records(results, out)
    for damage in departure.damaged:
        print(f"note: a damaged record is left out: {damage}")
    print(f"wrote {out}: {departure.records} records")


class Differing(enum.StrEnum):
    """What becomes of records that are there already and differ."""

    REFUSE = "refuse"
    KEEP = "keep"
    REPLACE = "replace"


@app.command(name="import", rich_help_panel=_PUBLISH)
def import_(
    source: Annotated[Path, typer.Argument(help="a file that `thawbench export` wrote")],
    results: Annotated[Path, typer.Option(help="the folder that the records join")] = Path("results"),
    differing: Annotated[
        Differing, typer.Option(help="of a cell with other content here: refuse all, keep mine, replace it")
    ] = Differing.REFUSE,
) -> None:
    """Take in the records of a file, all of them or none.

    Every sum is checked first, and that no board of the two together would mix versions of a task, of its rows or of a
    strategy, or majors of a library. What is wrong is listed, and nothing is written.
    """
    from thawbench.leaderboard.exchange import import_records

    arrival = import_records(source, results, differing.value)
    print(
        f"{results}: {arrival.new} new records, {arrival.same} were here already, "
        f"{arrival.kept} kept though theirs differ, {arrival.replaced} replaced"
    )


@app.command(rich_help_panel=_PUBLISH)
def compact(folder: Annotated[Path, typer.Argument(help="a folder of records that nothing writes into now")]) -> None:
    """Put the records of a folder into one file with checksums, `records.jsonl`, and remove the single files.

    Boards, runs and exports read records in either form. Tracebacks are left out.
    """
    from thawbench.suite.records import RecordStore

    path, count = RecordStore(folder).compact()
    print(f"{path}: {count} records")


@app.command(rich_help_panel=_PUBLISH)
def compare(
    first: Annotated[str, typer.Argument(help="a strategy as it was run")],
    second: Annotated[str, typer.Argument(help="another one, or the same with --second-seed")],
    task: Annotated[str, typer.Option(help="the task as it was run, such as fewshot/sst2@100")],
    seed: Annotated[str, typer.Option(help="a number for all streams, or sample=1,init=0,order=0")] = "0",
    second_seed: Annotated[str, typer.Option(help="of the second model [that of the first]", show_default=False)] = "",
    backbone: Annotated[str, typer.Option(help="if there are records of several", show_default=False)] = "",
    results: Annotated[Path, typer.Option(help="the folder of records, with its rows")] = Path("results"),
) -> None:
    """Compare two trained models row by row: McNemar's test, and a paired bootstrap over the test rows.

    It speaks of these two sets of weights on other rows like these, and not of strategies: another seed gives other
    weights. `thawbench leaderboard` compares strategies over seeds.

    `thawbench compare frozen finetune --task fewshot/sst2@100 --seed 3`
    """
    from thawbench.leaderboard.model_pair import verdict_on

    print("\n".join(verdict_on(results, (first, second), task, (seed, second_seed or seed), backbone)))
