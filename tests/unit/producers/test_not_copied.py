"""Tables that PostgreSQL's source does not copy, in a finding that stays short however many there are."""

from wrackline.producers.sources.postgres.check.check_tables import PgCheckedTable, uncopied_findings
from wrackline.schemas.language.findings import Severity
from wrackline.schemas.tables.table import TableId


def hidden(count: int) -> list[PgCheckedTable]:
    return [
        PgCheckedTable(
            TableId("d", f"s{at}", "t"),
            at,
            f's{at}."t"',
            f"s{at}",
            "p",
            False,
            False,
            False,
            False,
            False,
            False,
        )
        for at in range(count)
    ]


def test_tables_that_the_role_may_not_read_are_named_with_their_grants() -> None:
    [found] = uncopied_findings(hidden(2), '"reader"')
    assert (found.id, found.severity) == ("pg.tables_not_granted", Severity.INFO)
    assert 'GRANT USAGE ON SCHEMA s0, s1 TO "reader"; ' in found.suggestion
    assert 'GRANT SELECT ON s0."t", s1."t" TO "reader"' in found.suggestion


def test_many_tables_make_no_long_finding() -> None:
    [found] = uncopied_findings(hidden(20_000), '"reader"')
    assert "GRANT SELECT ON ALL TABLES IN SCHEMA s0, s1, " in found.suggestion
    assert len(found.suggestion) < 500
    assert "19,990 more" in found.description
