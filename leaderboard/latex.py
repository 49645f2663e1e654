"""A board as LaTeX tables, for the packages booktabs and inputenc: `\\input` them where they are to stand."""

from thawbench.leaderboard.board import Board, Section
from thawbench.leaderboard.board_grids import (
    agreements_grid,
    costs_grid,
    overall_grid,
    partial_grid,
    relevance_grid,
)
from thawbench.leaderboard.grid import Cell, Grid
from thawbench.leaderboard.table_grids import complete_grid, incomplete_grid, references_grid

_SPECIAL = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "±": r"$\pm$",
        "†": r"\dag{}",
        "–": "--",
        "[": "{[}",  # at the start of a line it would be an argument of the line break before it, as would a star
        "*": "{*}",
        **{each: rf"\{each}" for each in "&%$#_{}"},
    }
)


def render_latex(board: Board) -> str:
    """Every table with its caption."""
    found = [each for section in board.sections for each in _grids(section)]
    if board.relevance:
        found.append(("relevance against similarity", relevance_grid(board.relevance)))
        found.append(("relevance against similarity, rank correlation", agreements_grid(board.relevance)))
    return "\n".join(_table(caption, lines) for caption, lines in found if lines.rows)


def escape_latex(text: str) -> str:
    """A text as one line that LaTeX prints as it is."""
    return " ".join(text.split()).translate(_SPECIAL)


def _grids(section: Section) -> list[tuple[str, Grid]]:
    found = []
    if section.overall:
        found.append(("overall, mean rank", overall_grid(section.overall)))
        found.append(("overall, incomplete", partial_grid(section.overall)))
    for table in section.tables:
        found.append((table.title, complete_grid(table)))
        found.append((f"{table.title}, incomplete", incomplete_grid(table)))
        found.append((f"{table.title}, published", references_grid(table)))
    found.append(("cost", costs_grid(section.costs)))
    return [(f"{section.backbone}: {caption}", lines) for caption, lines in found]


def _table(caption: str, lines: Grid) -> str:
    rows = [" & ".join(map(_cell, row)) for row in (tuple(map(Cell, lines.heads)), *lines.rows)]
    body = [f"{row} \\\\" for row in rows]
    return "\n".join(
        [
            r"\begin{table}",
            rf"\caption{{{escape_latex(caption)}}}",
            rf"\begin{{tabular}}{{{'l' * len(lines.heads)}}}",
            r"\toprule",
            body[0],
            r"\midrule",
            *body[1:],
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def _cell(cell: Cell) -> str:
    text = escape_latex(cell.text)
    return rf"\textbf{{{text}}}" if cell.bold else text
