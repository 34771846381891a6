"""Handling modes: what is done anyway is accepted, anything else is refused with what is done instead."""

import re
import tomllib

import pytest

from tests.unit.settings.shop import GOOD, checked, codes
from tests.unit.test_house import ROOT
from wrackline.control.runtime.ground.installed import registries
from wrackline.schemas.settings.value_kinds import words_of

FIXED = {
    "decimal.handling.mode": ("precise", ("double", "string"), "decimals"),
    "time.precision.mode": (
        "microseconds",
        ("adaptive", "connect", "isostring", "nanoseconds"),
        "microseconds",
    ),
    "binary.handling.mode": ("bytes", ("base64", "base64-url-safe", "hex"), "bytes"),
    "interval.handling.mode": ("string", ("numeric",), "ISO 8601"),
    "bigint.unsigned.handling.mode": ("precise", ("long",), "20 digits"),
    "money.fraction.digits": ("2", ("0", "3"), "two places"),
    "event.processing.failure.handling.mode": ("fail", ("warn", "skip"), "never skipped"),
    "event.deserialization.failure.handling.mode": ("fail", ("warn", "ignore"), "never skipped"),
}
OTHERS = [(name, word, said) for name, (_, words, said) in FIXED.items() for word in words]


# All that decides in Debezium's PostgreSQL, MySQL and MariaDB connectors which form a value or a record has,
# with the values that it may have.
DEBEZIUM = {
    "decimal.handling.mode": ("precise", "double", "string"),
    "time.precision.mode": (
        "adaptive", "adaptive_time_microseconds", "connect", "isostring", "microseconds", "nanoseconds"
    ),
    "binary.handling.mode": ("bytes", "base64", "base64-url-safe", "hex"),
    "interval.handling.mode": ("numeric", "string"),
    "hstore.handling.mode": ("json", "map"),
    "bigint.unsigned.handling.mode": ("long", "precise"),
    "money.fraction.digits": ("2", "0", "4"),
    "tombstones.on.delete": ("true", "false"),
    "skip.messages.without.change": ("true", "false"),
    "unavailable.value.placeholder": ("__debezium_unavailable_value", "gone"),
    "event.processing.failure.handling.mode": ("fail", "warn", "skip"),
    "event.deserialization.failure.handling.mode": ("fail", "warn", "ignore"),
    "event.converting.failure.handling.mode": ("fail", "warn", "skip"),
    "inconsistent.schema.handling.mode": ("fail", "warn", "skip"),
    "schema.name.adjustment.mode": ("none", "avro", "avro_unicode"),
    "field.name.adjustment.mode": ("none", "avro", "avro_unicode"),
    "include.unknown.datatypes": ("true", "false"),
}  # fmt: skip
PAGE = (ROOT / "docs" / "other-readers.md").read_text()
OBEYED, REFUSED = "settings.ok", {"settings.invalid", "settings.refused"}


def outcome(name: str, value: str) -> str:
    problems = checked({**GOOD, name: value}).problems
    assert {problem.setting for problem in problems} <= {name}
    return problems[0].error.code if problems else OBEYED


def row_of(name: str) -> list[str]:
    """The page's cells about a setting."""
    (row,) = (line for line in PAGE.splitlines() if line.startswith("| `") and f"`{name}`" in line)
    cells = [cell.strip() for cell in row.split("|")[1:-1]]
    return cells if len(cells) > 2 else [*cells, "", ""]


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, of in DEBEZIUM.items() for value in of])
def test_each_of_debeziums_modes_is_obeyed_or_refused_as_the_page_says(name: str, value: str) -> None:
    found = outcome(name, value)
    assert outcome(name, value.upper()) in {found, OBEYED} or name == "unavailable.value.placeholder"
    _, obeyed, refused, *_ = row_of(name)
    if found in REFUSED:
        assert f"`{value}`" in refused or refused == "all others"
        assert f"`{value}`" not in obeyed
    elif found == OBEYED:
        assert f"`{value}`" in obeyed or obeyed == "any text"
    else:
        assert found == "settings.not_honoured", "nobody may take it for a typing error"


@pytest.mark.parametrize("name", ["schema.name.adjustment.mode", "field.name.adjustment.mode"])
def test_names_are_never_escaped_even_on_request(name: str) -> None:
    """Without an error two names that only an escape distinguishes would fall together."""
    assert {word: outcome(name, word) for word in DEBEZIUM[name]} == {
        "none": "settings.not_honoured",
        "avro": OBEYED,
        "avro_unicode": "settings.refused",
    }


def test_each_mode_that_is_not_obeyed_has_a_sentence_of_its_own() -> None:
    said: dict[str, str] = {}
    for name, values in DEBEZIUM.items():
        for problem in (one for value in values for one in checked({**GOOD, name: value}).problems):
            said[name] = problem.error.sentence.partition(":")[2]
            assert problem.error.hint
    alike = {"schema.name.adjustment.mode", "field.name.adjustment.mode"}
    distinct = {sentence for name, sentence in said.items() if name not in alike}
    assert len(distinct) == len(said.keys() - alike)


@pytest.mark.parametrize("name", FIXED)
def test_an_empty_mode_asks_for_nothing(name: str) -> None:
    assert codes(checked({**GOOD, name: ""})) == []


def test_words_are_taken_in_any_case_wherever_a_setting_takes_one_of_some() -> None:
    seen = 0
    for registry in registries().values():
        for setting in registry.settings.values():
            for word in words_of(setting.validator):
                seen += 1
                for written in (word.upper(), word.lower(), word.title()):
                    taken = setting.parse(written)
                    assert (taken[0] if isinstance(taken, tuple) else taken) in words_of(setting.validator)
    assert seen > 40


@pytest.mark.parametrize(
    "name",
    ["transforms.outbox.type", "transforms.outbox.table.field.event.id", "transforms.outbox.route.by.field"],
)
def test_an_outbox_is_refused_with_the_page_that_describes_it(name: str) -> None:
    found = checked({**GOOD, "transforms": "outbox", name: "io.debezium.transforms.outbox.EventRouter"})
    assert codes(found) == [("transforms", "settings.refused"), (name, "settings.refused")]
    for problem in found.problems:
        file, heading = re.findall(r"(docs/[\w-]+\.md), ([\w ]+)", problem.error.hint)[0]
        assert f"## {heading.strip()}\n" in (ROOT / file).read_text()


def test_the_pages_settings_for_an_outbox_are_good() -> None:
    (block,) = re.findall(r"```toml\n(\[source\].*?)```", PAGE, re.DOTALL)

    def flat(table: dict[str, object], prefix: str = "") -> dict[str, str]:
        made: dict[str, str] = {}
        for name, value in table.items():
            made |= (
                flat(value, f"{prefix}{name}.")
                if isinstance(value, dict)
                else {f"{prefix}{name}": str(value)}
            )
        return made

    assert codes(checked({**GOOD, **flat(tomllib.loads(block)["source"])})) == []


@pytest.mark.parametrize(("name", "word"), [(name, word) for name, (word, _, _) in FIXED.items()])
def test_a_mode_that_says_what_is_done_anyway_is_accepted(name: str, word: str) -> None:
    assert codes(checked({**GOOD, name: word})) == []


@pytest.mark.parametrize(("name", "word", "said"), OTHERS)
def test_another_mode_is_refused_with_what_is_done_instead(name: str, word: str, said: str) -> None:
    found = checked({**GOOD, name: word})
    assert codes(found) == [(name, "settings.invalid")]
    assert found.values is None
    assert said in found.problems[0].error.sentence


@pytest.mark.parametrize("word", ["json", "map"])
def test_an_hstore_is_text_whatever_is_asked(word: str) -> None:
    found = checked({**GOOD, "hstore.handling.mode": word})
    assert codes(found) == [("hstore.handling.mode", "settings.refused")]
    assert "the server's own text" in found.problems[0].error.sentence


def test_a_timestamp_with_zone_is_text_or_microseconds() -> None:
    values = checked(GOOD).values
    assert values is not None
    assert values.text("timestamptz.handling.mode") == "string"
    assert codes(checked({**GOOD, "timestamptz.handling.mode": "micros"})) == []
    assert codes(checked({**GOOD, "timestamptz.handling.mode": "millis"})) == [
        ("timestamptz.handling.mode", "settings.invalid")
    ]


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("column.mask.hash.SHA-257.with.salt.pepper", "mask.algorithm_unknown"),
        ("column.mask.hash.v2.none.with.salt.pepper", "mask.algorithm_unknown"),
        ("column.truncate.to.0.chars", "mask.length_refused"),
        ("column.mask.with.99999.chars", "mask.length_refused"),
    ],
)
def test_a_mask_that_there_is_not_is_named_before_the_start(name: str, code: str) -> None:
    found = checked({**GOOD, name: "public.t.a"})
    assert codes(found) == [(name, code)]
    assert "pepper" not in str(found.problems[0].error)
    assert codes(checked({**GOOD, "column.mask.hash.v2.SHA-256.with.salt.pepper": "public.t.a"})) == []
