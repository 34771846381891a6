"""Texts in a terminal: broken between words, and no command, path or setting is broken."""

import re

import pytest

from wrackline.control.cli.commands.explain import explain_codes
from wrackline.control.cli.terminal.word_wrap import wrap_hint, wrap_sentence

COMMANDS = re.compile(
    r"wrackline [a-z]+ [^;,:)]*|(?:curl|kcat|kafka-\w+|timedatectl) [^;,]*|[\w.]+ = (?:\"[^\"]*\"|'[^']*')"
)


def joined(text: str, indent: int) -> str:
    return text.replace(f"\n{'':{indent}}", " ")


@pytest.mark.parametrize("width", [60, 80])
def test_every_sentence_is_broken_at_spaces_and_fits(width: int) -> None:
    for one in explain_codes(None):
        shown = wrap_sentence(one.sentence, width, 2, 2)
        assert joined(shown, 2) == one.sentence
        assert all(len(line) <= width or " " not in line.strip() for line in f"  {shown}".splitlines()), shown


@pytest.mark.parametrize("width", [60, 80])
def test_no_command_or_setting_of_a_hint_is_broken(width: int) -> None:
    explained = explain_codes(None)
    assert sum(len(COMMANDS.findall(one.hint)) for one in explained) > 300
    for one in explained:
        shown = wrap_hint(one.hint, width, 4, 8)
        assert joined(shown, 4).strip() == one.hint
        assert [command for command in COMMANDS.findall(one.hint) if command.strip() not in shown] == []


def test_a_command_that_is_longer_than_a_line_is_alone_on_its_line() -> None:
    command = "kafka-configs --bootstrap-server <brokers> --alter --entity-name 'a: b, c' --add-config x=1"
    hint = f"keep events for a longer time, or at once: {command}; then see why the table is behind"
    assert wrap_hint(hint, 60, 4, 8).splitlines() == [
        "keep events for a longer time, or at once:",
        f"    {command};",
        "    then see why the table is behind",
    ]
    assert wrap_hint(command, 60, 4, 8) == f"\n    {command}", "also behind the word hint"


def test_elsewhere_than_in_a_terminal_nothing_is_broken() -> None:
    text = "start it again: wrackline run x; " * 9
    assert wrap_sentence(text, None, 2, 2) == wrap_hint(text, None, 2, 2) == text
