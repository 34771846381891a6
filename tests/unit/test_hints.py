"""Every command that a hint says to run is one that can be run."""

import ast
import re
import shlex
import tomllib
from collections.abc import Collection, Iterator

import pytest
import typer

from wrackline.control.cli.command_line import app
from wrackline.control.cli.commands.explain import all_settings, import_everything
from wrackline.control.runtime.rest.access.roles import route_of
from wrackline.control.runtime.worker.task_process import for_group
from wrackline.schemas import message_texts
from wrackline.schemas.errors import Definite, all_codes, of_database
from wrackline.schemas.language.findings import rules
from wrackline.schemas.message_texts import fill_in, to_rest

QUOTED = "'{table}'"
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
    ours = {code: made for code, made in all_codes().items() if not code.startswith("test.")}
    assert {code: found for code, made in ours.items() if (found := list(unknown(made.hint)))} == {}


def test_what_starts_one_of_several_databases_over_leaves_the_others() -> None:
    hint = "start over: wrackline offsets reset <pipeline.toml>, and the next start reads all rows"
    lost = Definite("a.b", "it went", hint)
    assert of_database(lost, "o'c").hint == hint.replace("toml>,", """toml> --database 'o'"'"'c',""")
    by_rest = of_database(Definite("a.b", "it went", to_rest(hint)), "crm").hint
    assert "DELETE" not in by_rest
    assert (
        'PATCH /connectors/<name>/offsets with null for {"server": "<topic.prefix>", "database": "crm"}'
        in by_rest
    )
    other = Definite("a.b", "it went", "look")
    assert str(of_database(other, "crm")) == str(other)


REQUEST = re.compile(r"\b(GET|PUT|POST|PATCH|DELETE) (/[\w/-]*)")
FILES = re.compile("pipeline.toml|the pipeline's file")


def test_a_hint_names_rest_where_settings_came_over_rest() -> None:
    assert not import_everything()
    hints = {code: made.hint for code, made in all_codes().items() if not code.startswith("test.")}
    hints |= {name: made.suggestion for name, made in rules().items()}
    assert sum("<pipeline.toml>" in hint for hint in hints.values()) > 100
    there = {code: to_rest(hint.replace("{command}", "wrackline run")) for code, hint in hints.items()}
    assert {code: hint for code, hint in there.items() if FILES.search(hint)} == {}
    left = {code for code, hint in there.items() if "<file of its settings>" in hint and "spark" not in hint}
    assert left == {"rest.by_file", "remote.no_answer"}, "who asks has a file, or Spark is started by hand"
    filled = {code: re.sub("[<{][a-z]+[>}]", "x", hint) for code, hint in there.items()}
    requests = {code: REQUEST.findall(hint) for code, hint in filled.items()}
    assert {code: one for code, one in requests.items() if any(not route_of(*each) for each in one)} == {}
    assert len(requests["pg.wal_missing"]) == 3


def test_a_hint_names_rest_only_in_a_process_whose_settings_came_over_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(message_texts, "_PROCESS", message_texts._ProcessHints())
    hints: list[str] = []

    def main(table: str) -> None:
        hint = "read it again: wrackline snapshot start <pipeline.toml> '{table}'"
        hints.append(fill_in(hint, {"table": table}))

    main("a'b")
    for_group(main, "a'b")
    assert hints == [
        "read it again: wrackline snapshot start <pipeline.toml> 'a'\"'\"'b'",
        "read it again: POST /connectors/<name>/requests with type execute-snapshot for 'a'\"'\"'b'",
    ]


def test_a_name_stays_one_word_of_a_hinted_command() -> None:
    assert not import_everything()
    name, word = "it's a {table}'; touch made #", "'it'\"'\"'s a {table}'\"'\"'; touch made #'"
    assert (shlex.split(word), ast.literal_eval(word)) == ([name], name), "to a shell, and to Python"
    quoted = [one for one in all_codes().values() if QUOTED in one.hint]
    assert len(quoted) > 20
    assert [one.code for one in quoted if word not in one(**dict.fromkeys(one.placeholders, name)).hint] == []


def test_an_address_stays_one_word_of_a_hinted_command() -> None:
    assert not import_everything()
    named = {"url": "http://$(touch${IFS}it's):8081", "subject": "s-value"}
    hints = {code: made.hint for code, made in all_codes().items()}
    hints |= {name: made.suggestion for name, made in rules().items()}
    asking = {code: hint for code, hint in hints.items() if "curl" in hint and "{url}" in hint}
    assert len(asking) > 5
    for code, hint in asking.items():
        command = fill_in(hint, named)
        words = shlex.split(command[command.index("curl") :])
        assert words[-1].startswith(f"{named['url']}/"), code


def wrong_kcat(hint: str) -> list[str]:
    """The calls of kcat that can't be repeated: without brokers, or for one offset of no named partition."""
    calls = re.findall(r"\bkcat (-[^;|)]*)", hint)
    one_offset = re.compile(r"-o (?:\{offset\}|\d)")
    return [
        call
        for call in calls
        if "-b <brokers>" not in call
        or ("-C" in call and "-t" not in call)
        or (one_offset.search(call) and "-p " not in call)
        or "-t {topic}" in call
    ]


def test_kcat_gets_the_place_to_look() -> None:
    assert not import_everything()
    hints = {code: made.hint for code, made in all_codes().items()}
    hints |= {name: made.suggestion for name, made in rules().items()}
    assert sum("kcat -" in hint for hint in hints.values()) > 5
    assert {code: found for code, hint in hints.items() if (found := wrong_kcat(hint))} == {}


def test_a_call_of_kcat_that_cannot_be_repeated_is_seen() -> None:
    for call in ("-C -t '{topic}' -o -5 -e", "-b <brokers> -C -t '{topic}' -o {offset} -c 1", "-L"):
        assert wrong_kcat(f"look at it: kcat {call}; then go on") == [call]


def test_a_connector_that_is_not_there_is_answered_in_words_of_the_command_line_too() -> None:
    assert not import_everything()
    assert "wrackline connectors" in all_codes()["rest.no_connector"].hint


def from_an_index(hint: str) -> list[str]:
    """The calls of pip that would take a package of our name from an index, where it is not."""
    calls = re.findall(r"\bpip install ([^;:]*)", hint)
    return [call for call in calls if re.search(r"(?:^|[\s'\"])wrackline\b(?!/)", call, re.IGNORECASE)]


def test_no_hint_installs_the_project_from_an_index() -> None:
    assert not import_everything()
    hints = {code: made.hint for code, made in all_codes().items()}
    hints |= {name: made.suggestion for name, made in rules().items()}
    assert sum("pip install" in hint for hint in hints.values()) > 3
    assert {code: found for code, hint in hints.items() if (found := from_an_index(hint))} == {}


@pytest.mark.parametrize("call", ["--upgrade wrackline", "'wrackline[spark]'", "wrackline==1.2"])
def test_an_installation_from_an_index_is_seen(call: str) -> None:
    assert from_an_index(f"use that one: pip install {call}; then start it again")
    assert not from_an_index(
        "in the clone: .venv/bin/python -m pip install -e '.[spark]'; then run wrackline"
    )


def not_toml(text: str, names: Collection[str]) -> list[str]:
    """The settings of a text whose value can't be pasted into `pipeline.toml`."""
    found = []
    for name, value in re.findall(
        r"(?<![\w.$-])([a-z]+(?:\.[\w<>]+)+) ?= ?('[^']*'|\"[^\"]*\"|[^\s;,)]*)", text
    ):
        if name in names:
            try:
                tomllib.loads(f"{name} = {value}".replace("<", "").replace(">", ""))
            except tomllib.TOMLDecodeError:
                found.append(f"{name} = {value}")
    return found


def test_a_setting_of_a_hint_can_be_pasted_into_the_file() -> None:
    assert not import_everything()
    names = {one.name for one in all_settings()} - {"decimal.handling.mode"}  # a hint names Debezium's
    texts = {code: f"{made.sentence}; {made.hint}" for code, made in all_codes().items()}
    texts |= {name: made.suggestion for name, made in rules().items()}
    filled = {code: re.sub(r"\{(\w+)\}", "1", text) for code, text in texts.items()}
    assert sum(f"{name} = " in text for text in filled.values() for name in names) > 60
    assert {code: found for code, text in filled.items() if (found := not_toml(text, names))} == {}


def test_a_setting_that_the_file_would_refuse_is_seen() -> None:
    hint = "carry it as text: column.as.text={column}, or a.b = 'c', or stop.after=all; or keep = x"
    assert not_toml(hint, {"column.as.text", "a.b", "stop.after"}) == [
        "column.as.text = {column}",
        "stop.after = all",
    ]


def test_a_record_that_is_too_large_is_answered_with_both_steps() -> None:
    """The table is set aside: to raise the limit alone does not bring it back."""
    assert not import_everything()
    hint = all_codes()["kafka.record_refused"].hint
    assert hint.index("max.message.bytes") < hint.index("wrackline snapshot start <pipeline.toml>")


def test_what_goes_wrong_is_said_in_one_place() -> None:
    """No id is an error's and a finding's, for then there would be two texts."""
    assert not import_everything()
    assert all_codes().keys() & rules().keys() == set()


def test_a_command_that_is_not_there_is_seen() -> None:
    assert list(unknown("run: wrackline offsets delete x; then wrackline offsets show x")) == [
        "offsets delete"
    ]
    assert list(unknown("wrackline fly")) == ["fly"]
