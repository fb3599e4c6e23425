"""Options that several commands share. Typer reads the annotations at run time."""

# Python 3.10 needs Optional for the older Typers.
from pathlib import Path
from typing import Annotated, Optional

import typer

from tapetrace.config import Color, Detail, Format

Outputs = Annotated[
    Optional[list[Path]],  # noqa: UP045
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Also write the report: .svg .pdf .png .dot .html .json .sarif .md .txt, or its graph: .graphml .gexf, graph.json or .graph.json for "
        "Model Explorer; may be repeated.",
    ),
]
FormatOption = Annotated[Optional[Format], typer.Option(help="What is printed.", show_default="text")]  # noqa: UP045
DetailOption = Annotated[Optional[Detail], typer.Option(help="What one box of a picture stands for.", show_default="line")]  # noqa: UP045
SourceOption = Annotated[Optional[bool], typer.Option("--source/--no-source", help="Show lines of your code in reports.", show_default="--source")]  # noqa: UP045
ColorOption = Annotated[Optional[Color], typer.Option(help="When to colour the text.", show_default="auto")]  # noqa: UP045
FrozenPatterns = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option("--frozen", metavar="PATTERN", help="Variables that should get no gradient, such as 'critic/*'; may be repeated."),
]
Debug = Annotated[bool, typer.Option("--debug", help="Show the Python traceback of an error.")]
LossName = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--loss", metavar="NAME", help="The loss, where no gradient call says: an output, its number, or a tensor of a finished graph."),
]
VariableNames = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option("--variables", metavar="NAME", help="What is asked for instead of all trainable variables, such as 'enc/*'; may be repeated."),
]
Signature = Annotated[Optional[str], typer.Option("--signature", metavar="NAME", help="The function of a SavedModel.")]  # noqa: UP045
