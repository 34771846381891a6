"""The pure parts of an assessment: forecast, clocks, verdict, fixes, the choice of tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pytest

from tests.unit.corpus.worker import GOOD
from wrackline.control.runtime.ground.installed import Installed
from wrackline.control.runtime.probe.clocks import ClockReading, clock_findings
from wrackline.control.runtime.probe.forecast import Forecast, MeasuredRead, forecast, forecast_findings
from wrackline.control.runtime.probe.kafka_trial import KafkaTrial
from wrackline.control.runtime.probe.mending import apply_fixes, statements_of
from wrackline.control.runtime.probe.registry_trial import RegistryTrial
from wrackline.control.runtime.probe.rows_trial import choose_tables
from wrackline.control.runtime.probe.target_trial import TargetTrial
from wrackline.control.runtime.probe.verdict import GateVerdict, acceptances, accepted_ids, verdict_of
from wrackline.producers.contract.optional_parts import TableSize
from wrackline.producers.contract.trials import LEFT_S, LogPace, Trial, left_stamps, trial_stamp
from wrackline.producers.sources.mysql.check import check_rules as mysql_rules
from wrackline.producers.sources.mysql.check import check_table_rules
from wrackline.producers.sources.mysql.trials import ADMIN_REFUSED
from wrackline.producers.sources.oracle.check import check_rules as oracle_rules
from wrackline.producers.sources.postgres.check import check_rules as pg_rules
from wrackline.producers.sources.postgres.check import check_table_rules as pg_table_rules
from wrackline.producers.sources.sqlserver.check import check_rules as sqlserver_rules
from wrackline.schemas.language.findings import Finding, Rule, Severity, fix
from wrackline.schemas.pipelines.pipeline import check
from wrackline.schemas.redaction import Secret
from wrackline.schemas.settings.secret_refs import Allowed, Resolver
from wrackline.schemas.tables.table import Column, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

BIG, SMALL, NEW = (TableId("d", "public", name) for name in ("big", "small", "new"))
SIZES = {BIG: TableSize(9_000_000, 9 << 30), SMALL: TableSize(100, 1 << 20)}
READ = {BIG: MeasuredRead(10_000, 2_000_000, 0.1)}
PACE = LogPace(1_000_000, 3600, most_bytes=1 << 30, raise_limit="SET keep = '{gigabytes}GB'")

NOW_S = 1_800_000_000


def test_the_first_read_takes_as_long_as_its_rows_at_the_measured_rate() -> None:
    found = forecast(SIZES, READ, PACE, 3)
    assert found.seconds == pytest.approx(90.001, abs=0.01)
    assert (found.rows, found.largest) == (9_000_100, BIG)
    assert found.largest_share == pytest.approx(1, abs=0.001)
    assert found.kafka_bytes == 3 * 200 * 9_000_100
    assert found.log_bytes == pytest.approx(90_001_000, rel=0.001)
    assert not found.red
    assert not list(forecast_findings(found, PACE))


def test_a_table_of_few_rows_says_nothing_about_the_rate_of_others() -> None:
    slow = {**READ, SMALL: MeasuredRead(10, 1000, 5.0)}
    own = forecast(SIZES, slow, PACE, 1)
    assert own.seconds is not None
    shared = forecast({SMALL: TableSize(5000, 1)}, slow, PACE, 1)
    assert shared.seconds == pytest.approx(5000 * 5.1 / 10_010)


def test_a_table_that_was_read_whole_has_as_many_rows_as_were_read() -> None:
    found = forecast({BIG: TableSize(5, 9 << 30)}, {BIG: replace(READ[BIG], whole=True)}, PACE, 1)
    assert found.rows == 10_000


def test_a_table_that_was_never_counted_has_rows_like_the_others() -> None:
    found = forecast({NEW: TableSize(None, 200_000)}, READ, PACE, 1)
    assert found.rows == 1000


def test_more_log_than_is_kept_is_red_and_says_what_raises_the_limit() -> None:
    pace = replace(PACE, most_bytes=50_000_000)
    found = forecast(SIZES, READ, pace, 1)
    assert found.red
    [finding] = forecast_findings(found, pace)
    assert (finding.id, finding.severity) == ("forecast.log_kept", Severity.WARNING)
    assert "SET keep = '1GB'" in finding.suggestion
    assert str(BIG) in finding.suggestion
    assert [one["sql"] for one in finding.fixes] == ["SET keep = '1GB'"]


def test_a_read_that_takes_longer_than_the_log_is_kept_is_red() -> None:
    pace = LogPace(None, 0, most_s=60, raise_limit="SET expire = {seconds}")
    found = forecast(SIZES, READ, pace, 1)
    assert found.red
    [finding] = forecast_findings(found, pace)
    assert finding.fixes[0]["sql"] == "SET expire = 180"
    [finding] = forecast_findings(found, replace(pace, raise_limit="SET retention = {minutes}"))
    assert finding.fixes[0]["sql"] == "SET retention = 4"
    assert not forecast(SIZES, READ, replace(pace, most_s=100), 1).red


@pytest.mark.parametrize("measured", [{}, {BIG: MeasuredRead(0, 0, 0.1)}])
def test_nothing_is_forecast_where_nothing_was_measured(measured: Mapping[TableId, MeasuredRead]) -> None:
    found = forecast(SIZES, measured, PACE, 1)
    assert (found.seconds, found.kafka_bytes, found.log_bytes, found.red) == (None, None, None, False)
    document = found.document()
    assert document["minutes"] is None
    assert document["rows"] == 9_000_100


def test_no_tables_are_read_in_no_time() -> None:
    assert isinstance(forecast({}, {}, PACE, 1), Forecast)
    assert forecast({}, READ, PACE, 1).seconds == 0


@pytest.mark.parametrize(
    ("there", "way"),
    [(1_000_000, None), (1_002_500, None), (1_004_001, "2.0 s ahead of"), (997_000, "3.0 s behind")],
)
def test_only_what_the_question_itself_did_not_take_is_a_difference_of_clocks(
    there: int, way: str | None
) -> None:
    found = list(clock_findings([ClockReading("Kafka", there, 1_000_000, 1_002_000)]))
    assert [one.id for one in found] == ([] if way is None else ["assess.clock_off"])
    assert way is None or way in found[0].description


def finding(id_: str, severity: Severity, *sql: str, safe: bool = True) -> Finding:
    fixes = tuple(fix(id_, one, "owner", safe=safe) for one in sql)
    return Finding(id_, "n", "d", "s", "i", severity, fixes=fixes)


WARNED, FAILED = finding("a.warned", Severity.WARNING), finding("a.failed", Severity.ERROR)


def test_a_warning_closes_the_gate_until_it_is_accepted_with_a_reason() -> None:
    assert verdict_of([WARNED], {}) is GateVerdict.WARNINGS
    accepted = accepted_ids(("a.warned=the disk has an alarm = at 70 %", "a.gone=old"))
    assert accepted == {"a.warned": "the disk has an alarm = at 70 %", "a.gone": "old"}
    assert verdict_of([WARNED], accepted) is GateVerdict.GOOD
    assert [(one["id"], one["applies"]) for one in acceptances([WARNED], accepted)] == [
        ("a.warned", True),
        ("a.gone", False),
    ]


def test_an_error_can_not_be_accepted() -> None:
    assert verdict_of([WARNED, FAILED], {"a.failed": "x", "a.warned": "y"}) is GateVerdict.ERRORS
    assert verdict_of([finding("a.info", Severity.INFO)], {}) is GateVerdict.GOOD
    assert accepted_ids(None) == {}


def test_a_fix_is_split_at_semicolons_that_are_not_in_quotes() -> None:
    assert statements_of("GRANT x ON \"a;b\" TO 'c;d'; SELECT `e;f`; ") == [
        "GRANT x ON \"a;b\" TO 'c;d'",
        "SELECT `e;f`",
    ]


ADMIN = "postgresql://root:pw@h"


@dataclass
class Server:
    """A server whose faults are removed by the statement of the same name."""

    faults: dict[str, Finding]
    ran: list[str] = field(default_factory=list)
    refuses: frozenset[str] = frozenset()

    def mend(self, admin: Secret, statement: str) -> None:
        assert admin.reveal() == ADMIN
        self.ran.append(statement)
        if statement in self.refuses:
            raise ADMIN_REFUSED(reason="no")
        self.faults.pop(statement, None)

    def look(self) -> Sequence[Finding]:
        return list(self.faults.values())

    def trials(self) -> Sequence[Trial]:
        raise NotImplementedError

    def clock_ms(self) -> int:
        raise NotImplementedError

    def log_pace(self) -> LogPace:
        raise NotImplementedError


def test_safe_fixes_are_run_once_each_and_looked_at_again() -> None:
    server = Server(
        {
            "one": finding("a.one", Severity.ERROR, "one"),
            "bad": finding("a.bad", Severity.ERROR, "useless"),
            "no": finding("a.no", Severity.ERROR, "refused"),
            "risky": finding("a.risky", Severity.ERROR, "risky", safe=False),
            "two": finding("a.two", Severity.WARNING, "before; two"),
        },
        refuses=frozenset({"refused"}),
    )
    done = list(apply_fixes(server.look, server, Secret(ADMIN)))
    assert [(one.finding.id, one.gone, one.error is None) for one in done] == [
        ("a.one", True, True),
        ("a.bad", False, True),
        ("a.no", False, False),
        ("a.two", True, True),
    ]
    assert server.ran == ["one", "useless", "refused", "before", "two"]
    assert list(server.faults) == ["bad", "no", "risky"]
    assert done[0].document()["as"] == "owner"


def shape(table: TableId, columns: int, *key: str) -> TableSchema:
    kind = ColumnType(Kind.STRING, "text")
    return TableSchema(table, tuple(Column(f"c{n}", n, kind) for n in range(columns)), key)


def test_assessments_at_once_share_no_name() -> None:
    pipeline = check({"name": "shop", **GOOD}, Installed(), Resolver(Allowed(), {}))
    values, tables = pipeline.good(), [TableId("shop", "public", "orders")]
    made = [
        {
            KafkaTrial(values, stamp, lambda: 0).topic,
            KafkaTrial(values, stamp, lambda: 0).transactional_id,
            RegistryTrial(values, stamp, ()).subject,
            TargetTrial(values, "iceberg", tables, stamp, ()).table.name,
        }
        for stamp in (trial_stamp(1_800_000_000, chance) for chance in (1, 2))
    ]
    assert not made[0] & made[1]
    assert max(len(name) for name in made[0]) <= 63, "names of tables in PostgreSQL"


def test_only_what_an_hour_ago_was_begun_is_left() -> None:
    old, runs = trial_stamp(NOW_S - LEFT_S - 1, 7), trial_stamp(NOW_S - LEFT_S + 1, 7)
    names = ["", "probe-", "probe-x", f"probe-{old}", f"probe-{runs}", f"other-{old}", f"probe-{old}-value"]
    assert left_stamps(names, "probe-", NOW_S) == [old]
    assert trial_stamp(NOW_S, 0) < trial_stamp(NOW_S + 1, 0), "so a range of rows can be deleted"


def test_the_largest_the_widest_and_one_by_chance_are_tried() -> None:
    tables = {name: TableId("d", "public", name) for name in ("big", "wide", "a", "b", "keyless")}
    sizes = {tables["big"]: TableSize(1, 100), tables["keyless"]: TableSize(1, 1000)}
    columns = {"wide": 9, "keyless": 99}
    keys = {"keyless": ()}
    shapes = {
        table: shape(table, columns.get(name, 2), *keys.get(name, ("c0",))) for name, table in tables.items()
    }
    chosen = choose_tables(sizes, shapes, lambda rest: rest[-1])
    assert list(chosen) == [tables["big"], tables["wide"], tables["b"]]
    assert choose_tables(sizes, {tables["big"]: shapes[tables["big"]]}, lambda rest: rest[0]) == {
        tables["big"]: "the largest table"
    }
    by_rows = {tables["a"]: TableSize(1, None), tables["b"]: TableSize(2, None)}
    assert next(iter(choose_tables(by_rows, shapes, lambda rest: rest[0]))) == tables["b"]
    assert choose_tables({}, {tables["keyless"]: shapes[tables["keyless"]]}, lambda rest: rest[0]) == {}


ALL_RULES = [
    rule
    for module in (pg_rules, pg_table_rules, mysql_rules, check_table_rules, oracle_rules, sqlserver_rules)
    for rule in vars(module).values()
    if isinstance(rule, Rule)
]


def test_the_statement_of_a_fix_is_in_the_suggestion_that_people_read() -> None:
    """One truth: whoever changes the text of one has to change the other."""
    assert sum(bool(rule.fixes) for rule in ALL_RULES) >= 25
    for rule in ALL_RULES:
        for one in rule.fixes:
            assert one["id"] == rule.id
            for statement in statements_of(one["sql"]):
                assert statement in rule.suggestion, rule.id
