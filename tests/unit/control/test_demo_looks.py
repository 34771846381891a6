"""Lines that the demo leaves can be pasted: a shell splits them, and the commands they call take them."""

import shlex
import sys
from pathlib import Path

import typer

from wrackline.control.cli import app
from wrackline.control.demo import looks

FOLDER = Path("/some where/it's the demo")
URL = "postgresql://postgres@127.0.0.1:1/shop"


def words(name: str) -> list[str]:
    (found,) = (line for _, line in looks.live(FOLDER, "127.0.0.1:9092", URL) if name in line)
    return shlex.split(found)


def test_every_line_is_one_command_of_a_program_that_is_named() -> None:
    lines = looks.live(FOLDER, "127.0.0.1:9092", URL)
    programs = [shlex.split(line)[0] for _, line in lines]
    assert set(programs) == {"psql", "kcat", "./run", sys.executable}
    assert lines[-1:] == looks.at_rest(FOLDER)


def test_wrackline_takes_the_line_of_the_tail() -> None:
    run, wrackline, verb, *arguments = words("wrackline tail")
    assert (run, wrackline) == ("./run", "wrackline")
    group = typer.main.get_command(app)
    command = group.commands[verb]  # type: ignore[attr-defined]  # it is a group
    with command.make_context(verb, list(arguments)) as taken:
        assert (taken.params["file"], taken.params["count"]) == (FOLDER / "pipeline.toml", 5)


def test_spark_sql_gets_folder_and_query_as_one_word_each() -> None:
    program, *module, folder, query = words("demo.look")
    assert (program, module) == (sys.executable, ["-m", "wrackline.control.demo.look"])
    assert folder == str(FOLDER)
    assert query.startswith("SELECT status, count(*) FROM orders")
