"""The commands that read records and publish them: boards, claims, figures, pictures, files to exchange."""

import enum
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from thawbench.cli_app import app
from thawbench.errors import UserError

PANEL = "Read and publish"
picture = typer.Typer(no_args_is_help=True, help="Draw a picture, as .svg or .png: of energies, layers or classes.")
_Tasks = Annotated[
    list[str] | None, typer.Option(help="a task such as fewshot/sst2@100, or a glob; repeatable", show_default="all")
]
app.add_typer(picture, name="picture", rich_help_panel=PANEL)


def _line(command: Sequence[object]) -> str:
    """A command as a shell takes it."""
    return shlex.join(map(str, command))


@app.command(rich_help_panel=PANEL)
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

    if out and out.suffix != ".md":
        raise UserError(f"claims are written as Markdown, and {out} does not end in .md; choose another name")
    judged = judge_folder(results, folder or FOLDER, check_names)
    for note in judged.notes:
        print(f"note: {note}")
    print(judged.table())
    page = judged.page(out or Path("CLAIMS.md"))
    if check and page.stale:
        command = ["thawbench", "claims", "--results", results, *(["--folder", folder] if folder else [])]
        print(f"{page.path} is stale; renew it: {_line([*command, '--out', page.path])}")
        raise typer.Exit(1)
    if out and not check:
        page.write()
        print(f"wrote {page.path}")


@app.command(rich_help_panel=PANEL)
def leaderboard(
    results: Annotated[Path, typer.Option(help="the folder of records")] = Path("results"),
    out: Annotated[
        list[Path] | None, typer.Option(help="a file to write: .md, .csv, .tex or .json", show_default="LEADERBOARD.md")
    ] = None,
    into: Annotated[
        list[Path] | None,
        typer.Option(help="a document whose blocks to renew, marked by the comments board: TABLE and /board"),
    ] = None,
    task: _Tasks = None,
    metric: Annotated[
        str,
        typer.Option(
            help="rank by this metric, such as bwt or drop, where a task has it; not overall",
            show_default="the main one",
        ),
    ] = "",
    check: Annotated[bool, typer.Option("--check", help="write nothing; exit code 1 if a file is stale")] = False,
) -> None:
    """Write the board of a folder of records: the same bytes for the same records.

    What each strategy costs is a mean over its cells: of one task, `--task` makes costs that can be compared.

    `thawbench leaderboard --task fewshot/sst2@100 --out sst2.md`

    `thawbench leaderboard --task 'forgetting/*' --metric bwt --out bwt.md`

    A block takes a table of the page by its title (`overall`, `ir`, `cost`, `fewshot: stability`, `ir: over tasks`,
    `ir: against the best`; `ir, published` of those by others), and those that no page has room for: `metrics of TASK`,
    of one set at its sizes, with where each strategy overtakes `frozen`: `sizes of sst2`, `sizes of sst2~imdb`,
    of a strategy along one of its fields, scores and seconds: `k of drop_top`, and a curve: `uuas of probe/ewt@1000`.
    Of metrics and curves what is a share or a correlation is times 100; cosines of curves, losses, counts and seconds
    are as they are. Where several backbones have a table, ` on BACKBONE` after its name says which.
    """
    from thawbench.leaderboard.publish import edition_of

    edition = edition_of(results, out or ([] if into else [Path("LEADERBOARD.md")]), into or [], task or [], metric)
    asked = [part for each in task or [] for part in ("--task", each)] + (["--metric", metric] if metric else [])
    for damage in edition.damaged:
        print(f"note: a damaged record is left out: {damage}")
    stale = [page for page in edition.pages if page.stale]
    for page in stale if check else ():
        option = "--into" if page.path in (into or []) else "--out"
        command = ["thawbench", "leaderboard", "--results", results, *asked, option, page.path]
        print(f"{page.path} is stale; renew it: {_line(command)}")
    if check and stale:
        raise typer.Exit(1)
    for page in () if check else edition.pages:
        page.write()
        print(f"wrote {page.path}")


@app.command(rich_help_panel=PANEL)
def figures(
    out: Annotated[Path, typer.Option(help="the folder to draw into")],
    results: Annotated[Path, typer.Option(help="the folder of records")] = Path("results"),
    only: Annotated[list[str] | None, typer.Option(help="a figure's name; repeatable", show_default="all")] = None,
    task: _Tasks = None,
    dark: Annotated[bool, typer.Option("--dark", help="for a dark page, into files that end in -dark")] = False,
    png: Annotated[bool, typer.Option("--png", help="as .png in place of .svg")] = False,
) -> None:
    """Draw what a folder of records shows, a file for each figure and backbone: the same bytes for the same records.

    `sizes` is score against labelled rows, in domain and shifted, with the n at which tuning overtakes freezing, which
    `overtaking` has for every strategy. `fields` is score and seconds along one field of a strategy, such as the `k` of
    `drop_top`. `costs`, `spread` over seeds, `ranks` with those that cannot be told apart, `relevance` against
    similarity, `shift`, `forgetting`, `drift` of the layers along its chains, `noise`, `layers`, `geometry` and `probe`
    are the others. Of a figure that cannot be drawn it says which records are missing.

    `thawbench figures --results leaderboard/records/served --out docs/figures`

    `thawbench figures --out figures --only sizes --only spread --dark`
    """
    from thawbench.leaderboard.figures import draw_figures

    drawn = draw_figures(results, out, only or (), "dark" if dark else "light", "png" if png else "svg", task or ())
    for damage in drawn.damaged:
        print(f"note: a damaged record is left out: {damage}")
    for each in drawn.outcomes:
        print(f"wrote {each.path}" if each.path else f"not drawn: {each.name}; it needs {each.lacks}")


class Theme(enum.StrEnum):
    """What a picture is drawn on."""

    light = "light"
    dark = "dark"


class By(enum.StrEnum):
    """What a point is, and what colours it."""

    klass = "class"
    sentence = "sentence"


_PictureFile = Annotated[Path, typer.Option(help="the file to write, .svg or .png")]
_PictureTheme = Annotated[Theme, typer.Option(help="the page's colours")]
_PictureBackbone = Annotated[str, typer.Option(help="as in `run`")]


@picture.command()
def energy(
    out: _PictureFile,
    theme: _PictureTheme = Theme.light,
) -> None:
    """Draw how the energy of a pair pulls at a vector under L1, L2 and cosine: lines of equal energy, and gradients.

    `thawbench picture energy --out energy.svg --theme dark`
    """
    from thawbench.leaderboard.picture_energy import draw_energy

    draw_energy(out, theme.value)
    print(f"wrote {out}")


@picture.command()
def layers(
    out: _PictureFile,
    texts: Annotated[str, typer.Option(help="whose texts: a labelled set, docs/… or corpus/…, @n or not")],
    by: Annotated[By, typer.Option(help="a text a point, by class, or a word a point, by sentence")] = By.klass,
    strategy: Annotated[str, typer.Option(help="what to draw below the backbone's layers")] = "frozen",
    train: Annotated[str, typer.Option(help="what the strategy learns from")] = "",
    backbone: _PictureBackbone = "embedded",
    theme: _PictureTheme = Theme.light,
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


@picture.command()
def classes(
    labelled: Annotated[
        str,
        typer.Argument(metavar="LABELLED_SET", help="texts of a few classes; @n shows n test rows [300]"),
    ],
    out: _PictureFile,
    sizes: Annotated[str, typer.Option(help="how many labelled train rows to learn from, each n a column")],
    strategy: Annotated[
        list[str] | None, typer.Option(help="what to draw below the frozen backbone; repeatable, three at most")
    ] = None,
    backbone: _PictureBackbone = "embedded",
    seeds: Annotated[str, typer.Option(help="as in `run`; planes are those of the first")] = "1",
    theme: _PictureTheme = Theme.light,
) -> None:
    """Draw how far classes come apart as strategies learn from more rows, all in the same test rows' vectors.

    Above, a line for each strategy against n: the variance of the class means over the variance about them, tr(S_B) /
    tr(S_W), which is Fisher's ratio in trace form. At 0 the means are one point, and at 1 classes explain half of the
    variance. Below, every strategy's space at every n, in the plane in which its vectors spread the most (PCA). The
    frozen backbone stands first and is the same at every n.

    A ratio says how the space is shaped, and not how well it serves: a read-out may tell apart what PCA does not show.
    Strategies are fitted for the picture, and not kept.

    `thawbench picture classes sst2 --strategy finetune --strategy scl --sizes 20,100 --out classes.svg`

    `thawbench picture classes world/topics@100 --strategy frozen_ebm --sizes 20,50,200 --seeds 3 --out topics.png`
    """
    from thawbench.suite.class_picture import picture_classes

    picture_classes(out, labelled, strategy or (), sizes, backbone, seeds, theme.value)
    print(f"wrote {out}")


class ExportFormat(enum.StrEnum):
    """What records can be written as."""

    records = "records"
    mteb = "mteb"


@app.command(name="export", rich_help_panel=PANEL)
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


@app.command(name="import", rich_help_panel=PANEL)
def import_(
    source: Annotated[Path, typer.Argument(help="a file that `thawbench export` wrote")],
    results: Annotated[Path, typer.Option(help="the folder that the records join")] = Path("results"),
    differing: Annotated[
        Differing, typer.Option(help="of a cell with other content here: refuse all, keep mine, replace it")
    ] = Differing.REFUSE,
) -> None:
    """Take in the records of a file, all of them or, if anything is wrong with them, none.

    Every sum is checked first, and that no board of the two together would mix versions of a task, of its rows or of a
    strategy, or majors of a library. What is wrong is listed, and nothing is written. Then they are written one by one:
    if the disk fills up meanwhile some are there, each whole, and the same command goes on with the rest.
    """
    from thawbench.leaderboard.exchange import import_records

    arrival = import_records(source, results, differing.value)
    print(
        f"{results}: {arrival.new} new records, {arrival.same} were here already, "
        f"{arrival.kept} kept though theirs differ, {arrival.replaced} replaced"
    )


@app.command(rich_help_panel=PANEL)
def compact(folder: Annotated[Path, typer.Argument(help="a folder of records that nothing writes into now")]) -> None:
    """Put the records of a folder into one file with checksums, `records.jsonl`, and remove the single files.

    Boards, runs and exports read records in either form. Tracebacks are left out.
    """
    from thawbench.suite.record_store import RecordStore, packed_files

    if not (packed_files(folder) or any(folder.glob("records/??/*.json"))):
        raise UserError(f"{folder} is no folder with records; give the one that a run or a sweep wrote into")
    path, count = RecordStore(folder).compact()
    print(f"{path}: {count} records")


@app.command(rich_help_panel=PANEL)
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
