"""`sterna paper`: the paper's tables and figures."""

import os

import click

from sterna.command_line.output import write_error, write_out

# Where figures go.
OUT = "figures"


@click.command(short_help="Reproduce a table or a figure of the paper.")
@click.argument("name")
@click.option("--quick", is_flag=True, help="About a minute, with far fewer scans than in the paper.")
@click.option("--only", multiple=True, metavar="MODEL", help="Only this model, or method of table2.")
@click.option("--data", default=None, metavar="DIR", help="Folder with data of the models.  [default: simulated]")
@click.option("--seed", default=1, type=int, show_default=True, help="The same seed gives the same bits.")
@click.option("--format", "form", default="text", type=click.Choice(["text", "csv", "json"]), show_default=True)
@click.option("--out", default=OUT, metavar="DIR", help="Folder for a figure's files.", show_default=True)
@click.option("--redraw", is_flag=True, help="Draw a figure again, from the files of numbers in the folder.")
def paper(
    name: str,
    quick: bool,
    only: tuple[str, ...],
    data: str | None,
    seed: int,
    form: str,
    out: str,
    redraw: bool,
) -> None:
    """Reproduce a result of the paper: a table or a figure.

    table1 has all models; table2 has NRPT, NRPT+SCM, ARR and MMV on four of them.

    `sterna paper list` shows all names, `sterna paper figures` makes all figures. A figure is written as SVG and PNG
    beside the numbers that it shows, and what the paper says about it is compared with them. --only and --format are
    for tables, --out and --redraw for figures.

    Columns of tables are the numbers of observations n, variables d and chains N; the sum of rejections, which is the
    paper's estimate of the barrier, and the barrier corrected for saturation; the mean acceptance rate of swaps; and
    the number of restarts with the number implied by the rejections. A column named paper has the paper's value of the
    column before it; the paper's acceptance of ARR and MMV counts a further pair that always swaps.
    """
    from sterna.command_line import paper_figures
    from sterna.models.data import FOLDER
    from sterna.paper.tables import TABLES

    paper_figures.check_name(name, list(TABLES))
    _check_options(name, name in TABLES, bool(only) or form != "text", redraw or out != OUT)
    if data is not None:
        os.environ[FOLDER] = data
    if name in TABLES:
        _write_table(name, quick, only, seed, form)
    elif name == paper_figures.LIST:
        paper_figures.write_list()
    else:
        paper_figures.make_figures(name, out, quick, seed, redraw)


def _check_options(name: str, is_table: bool, for_tables: bool, for_figures: bool) -> None:
    """Refuse options that would have no effect."""
    from sterna.errors import OptionError

    if is_table and for_figures:
        raise OptionError(f"sterna paper {name}: --out and --redraw are for figures; leave them out.")
    if not is_table and for_tables:
        raise OptionError(f"sterna paper {name}: --only and --format are for tables; leave them out.")


def _write_table(name: str, quick: bool, only: tuple[str, ...], seed: int, form: str) -> None:
    from sterna.paper.runs import as_csv, as_json, as_line, choose, columns_of, run_case
    from sterna.paper.tables import TABLES

    cases = choose(TABLES[name], only)
    columns, found = columns_of(cases), []
    # rows are printed as soon as they are finished, because some take long
    write_row = write_out if form == "text" else write_error
    write_row(as_line(columns, None))
    for case in cases:
        found.append(run_case(case, quick, seed))
        write_row(as_line(columns, found[-1]))
    if form != "text":
        write_out(as_csv(found).rstrip("\n") if form == "csv" else as_json(found))
