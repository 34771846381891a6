"""Whatever stands in a configuration, reading it gives values or problems, and shows no secret."""

import json

from hypothesis import example, given
from hypothesis import strategies as st

from tests.unit.settings.shop import GOOD
from wrackline.control.runtime.ground.installed import Installed
from wrackline.schemas.errors import Definite, OperatorNeeded
from wrackline.schemas.pipelines.pipeline import check, parse
from wrackline.schemas.redaction import MASK, Redactor, Secret
from wrackline.schemas.settings.secret_refs import Allowed, Resolver, read_properties
from wrackline.schemas.settings.value_kinds import join_list, split_list

INSTALLED = Installed()
KNOWN = sorted({*check({**GOOD}, INSTALLED, Resolver(Allowed(), {})).registry.settings, *GOOD})
names = st.one_of(st.sampled_from(KNOWN), st.text(max_size=40))
values = st.one_of(
    st.text(max_size=60),
    st.integers().map(str),
    st.floats().map(str),
    st.sampled_from(
        ["true", "${env:X}", "${env:WRACKLINE_X}", "${file:/a:b}", "${env:${env:X}}", "${", "a,b"]
    ),
)
secrets = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40).map(
    lambda tail: f"q7~{tail}~7q"  # so that it can't be part of our own words
)


@given(st.dictionaries(names, values, max_size=12))
def test_any_map_gives_values_or_problems(spoiled: dict[str, str]) -> None:
    found = check({**GOOD, **spoiled}, INSTALLED, Resolver(Allowed(), {"WRACKLINE_X": "x"}))
    stopping = [problem for problem in found.problems if not problem.warning]
    assert (found.values is None) == bool(stopping)
    answer = found.registry.validate("postgres", {**GOOD, **spoiled}, Resolver(Allowed(), {}))
    assert json.loads(json.dumps(answer)) == answer


@given(st.text(max_size=200))
@example("[a]\n" * 2)
@example("a = " + "[" * 5000)
@example("a = " + "9" * 5000)
@example("\ufeffname = 1")
@example("name = 1979-05-27")
def test_any_text_is_a_map_or_a_syntax_error(text: str) -> None:
    try:
        found, _ = parse(text, "p.toml")
    except (Definite, OperatorNeeded) as error:
        assert error.code == "pipeline.syntax"  # noqa: PT017 - both ways out are right
    else:
        assert all(isinstance(part, str) for item in found.items() for part in item)


@given(secrets)
def test_a_secret_is_never_shown(canary: str) -> None:
    given_map = {**GOOD, "database.password": canary, "kafka.sasl.password": "${env:WRACKLINE_X}"}
    given_map["database.user"] = "${env:WRACKLINE_X}"
    given_map[f"column.mask.hash.SHA-256.with.salt.{canary}"] = "("
    resolve = Resolver(Allowed(), {"WRACKLINE_X": canary})
    found = check(given_map, INSTALLED, resolve)
    good = check({n: v for n, v in given_map.items() if not n.startswith("column")}, INSTALLED, resolve)
    answer = found.registry.validate("postgres", given_map, resolve)
    shown = [
        str(good.values),
        repr(good),
        json.dumps(answer),
        str(answer),
        *(str(problem.error) for problem in found.problems),
    ]
    assert good.values is not None
    assert good.values.secret("kafka.sasl.password").reveal() == canary
    assert good.values["database.user"] == canary.strip()
    for text in shown:
        assert canary not in text
        assert json.dumps(canary)[1:-1] not in text


@given(secrets, st.text(max_size=30), st.text(max_size=30))
def test_a_text_is_cleaned_by_value(canary: str, before: str, after: str) -> None:
    cleaned = Redactor([Secret(canary)]).clean(f"{before}{canary}{after}")
    assert canary not in cleaned or canary in before + MASK + after


@given(st.lists(st.text(st.characters(exclude_characters="\\\0"), min_size=1).map(str.strip).filter(bool)))
def test_a_list_survives_its_text(items: list[str]) -> None:
    assert split_list(join_list(tuple(items))) == tuple(items)


@given(st.text(max_size=200))
def test_any_text_is_a_properties_file(text: str) -> None:
    assert isinstance(read_properties(text), dict)
