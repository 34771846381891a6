"""Every command that a hint tells somebody to run is one that can be run."""

import re
from collections.abc import Iterator

import typer

from wrackline.control.cli import app
from wrackline.control.installed import import_everything
from wrackline.schemas.errors import registered
from wrackline.schemas.findings import rules

COMMAND = re.compile(r"\bwrackline ([a-z]+)(?: ([a-z]+))?")


def unknown(hint: str) -> Iterator[str]:
    """The commands of a hint that the command line does not have."""
    commands = getattr(typer.main.get_command(app), "commands", {})
    for verb, below in COMMAND.findall(hint):
        subcommands = getattr(commands.get(verb), "commands", {})
        if verb not in commands or (subcommands and below and below not in subcommands):
            yield f"{verb} {below}".strip()


def test_every_hinted_command_is_there() -> None:
    assert not import_everything()
    ours = {code: made for code, made in registered().items() if not code.startswith("test.")}
    assert {code: found for code, made in ours.items() if (found := list(unknown(made.hint)))} == {}


def test_what_goes_wrong_is_said_in_one_place() -> None:
    """No id is an error's and a finding's, for then there would be two texts."""
    assert not import_everything()
    assert registered().keys() & rules().keys() == set()


def test_a_command_that_is_not_there_is_seen() -> None:
    assert list(unknown("run: wrackline offsets delete x; then wrackline offsets show x")) == [
        "offsets delete"
    ]
    assert list(unknown("wrackline fly")) == ["fly"]
