"""Whether the log continues: the same log, and all of it, or an error that says what became of it."""

from dataclasses import replace

import pytest

from tests.unit.producers.sqlserver.change_model import lsn
from tests.unit.producers.sqlserver.test_handover import instance, known
from wrackline.producers.sources.sqlserver.discover.database_sql import (
    DatabaseRow,
    azure_sql,
    databases_sql,
    identity_of,
    log_bounds_sql,
)
from wrackline.producers.sources.sqlserver.follow.continuity import (
    LOST,
    DatabaseState,
    resume_position,
)
from wrackline.producers.sources.sqlserver.log.position import (
    DatabaseIdentity,
    SqlServerPosition,
    position_of,
)
from wrackline.schemas.errors import Definite, Transient, WracklineError

IDENTITY = DatabaseIdentity("family", "fork", "server/shop")
A, B = instance("a", 7, 10), instance("b", 8, 50)
NOW = DatabaseState("shop", IDENTITY, lsn(40), [A], tables=[A.source])
SAVED = SqlServerPosition(3, lsn(30), transaction=b"t" * 10, identity=IDENTITY, instances=known(A))


def test_the_log_continues_where_we_stopped() -> None:
    moved = replace(NOW, identity=IDENTITY._replace(name="other/shop"))
    at = resume_position(position_of(SAVED.saved()), moved)
    assert at == SAVED
    assert at.identity == moved.identity, "another server of the same availability group"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"identity": IDENTITY._replace(family="x")}, "sqlserver.database_foreign"),
        ({"identity": IDENTITY._replace(fork="x")}, "sqlserver.history_forked"),
        ({"instances": [B]}, "sqlserver.capture_renewed"),
        ({"instances": []}, "sqlserver.capture_renewed"),
        ({"newest": lsn(29)}, "sqlserver.log_behind"),
        ({"oldest": lsn(30), "transaction": None}, "sqlserver.history_forked"),
        ({"oldest": lsn(9), "transaction": b"u" * 10}, "sqlserver.history_forked"),
    ],
)
def test_another_log_stops_the_pipeline(change: dict[str, object], code: str) -> None:
    with pytest.raises(WracklineError) as caught:
        resume_position(SAVED, replace(NOW, **change))  # type: ignore[arg-type]
    assert caught.value.code == code
    assert code in LOST


def test_a_first_position_is_above_what_was_captured_and_where_each_instance_begins() -> None:
    assert resume_position(None, replace(NOW, newest=None)).lsn == A.start_lsn
    assert resume_position(None, replace(NOW, instances=[])).lsn == NOW.newest
    with pytest.raises(WracklineError) as caught:
        resume_position(None, replace(NOW, newest=None, instances=[]))
    assert caught.value.code == "sqlserver.log_not_begun"


OTHER = replace(instance("other", 9, 20), source=777)


@pytest.mark.parametrize(
    ("saved", "change"),
    [
        ({"identity": None}, {}),
        ({"lsn": lsn(40)}, {}),
        ({"transaction": None}, {"oldest": lsn(9)}),  # of a start that no commit is listed at
        ({"instances": known(A, OTHER)}, {"instances": [A], "tables": [777, A.source]}),
    ],
)
def test_nothing_tells_another_log(saved: dict[str, object], change: dict[str, object]) -> None:
    at = replace(SAVED, **saved)  # type: ignore[arg-type]
    assert resume_position(at, replace(NOW, **change)) == at  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("saved", "change", "code"),
    [
        # the same commit at the same place proves nothing of a server that is no other kind than before
        (
            {},
            {"identity": IDENTITY._replace(family="x"), "oldest": lsn(9), "transaction": b"t" * 10},
            "sqlserver.database_foreign",
        ),
        ({"transaction": None}, {"instances": [], "oldest": lsn(9)}, "sqlserver.capture_renewed"),
        ({"instances": known(A, OTHER)}, {"instances": []}, "sqlserver.capture_renewed"),
    ],
)
def test_what_is_known_of_a_commit_does_not_hide_another_log(
    saved: dict[str, object], change: dict[str, object], code: str
) -> None:
    with pytest.raises(WracklineError) as caught:
        resume_position(replace(SAVED, **saved), replace(NOW, **change))  # type: ignore[arg-type]
    assert caught.value.code == code


@pytest.mark.parametrize(
    "change",
    [
        {"oldest": lsn(9), "transaction": b"t" * 10},
        {"oldest": lsn(31)},  # the cleanup job has taken it
        {"oldest": None},
    ],
)
def test_our_last_commit_is_still_there_or_nobody_knows(change: dict[str, object]) -> None:
    assert resume_position(SAVED, replace(NOW, **change)) == SAVED  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "change",
    [
        {"tables": []},  # nothing is left of which rows could be missing
        {"oldest": lsn(9), "transaction": SAVED.transaction},  # what was captured is still listed
    ],
)
def test_instances_that_went_alone_or_with_their_tables_are_no_end_of_capture(
    change: dict[str, object],
) -> None:
    assert resume_position(SAVED, replace(NOW, instances=[B], **change)) == SAVED  # type: ignore[arg-type]


GROUPED = DatabaseIdentity("group", "", IDENTITY.name)
NAMED = DatabaseIdentity(IDENTITY.name, "2026-01-01T00:00:00", IDENTITY.name)
HERE = replace(NOW, oldest=lsn(9), transaction=SAVED.transaction)


@pytest.mark.parametrize("then", [IDENTITY, GROUPED, NAMED])
@pytest.mark.parametrize("now", [IDENTITY, GROUPED, NAMED])
def test_ids_of_another_kind_are_no_other_log_where_our_last_commit_is_listed(
    then: DatabaseIdentity, now: DatabaseIdentity
) -> None:
    """The database came into an availability group, or left it, or its ids are shown to us since then."""
    saved = replace(SAVED, identity=then)
    assert resume_position(saved, replace(HERE, identity=now)).identity == now
    if now != then:
        others = (
            replace(HERE, identity=now._replace(name="other/shop")),
            replace(HERE, identity=now, oldest=None, transaction=None),
        )
        for other in others:
            with pytest.raises(Definite) as caught:
                resume_position(saved, other)
            assert caught.value.code in LOST


def test_a_secondary_that_lags_is_waited_for() -> None:
    with pytest.raises(Transient) as caught:
        resume_position(SAVED, replace(NOW, newest=lsn(29), secondary=True))
    assert caught.value.code == "sqlserver.replica_behind"
    assert caught.value.code not in LOST


def test_a_first_start_is_behind_all_that_is_there() -> None:
    """A fresh instance may start above the newest commit; then nothing before it is ours."""
    at = resume_position(None, replace(NOW, instances=[A, B, instance("c", 9, None)]))
    assert (at.epoch, at.lsn, set(at.instances)) == (1, lsn(50), {"a", "b"})
    assert resume_position(at, replace(NOW, instances=[A, B])) == at, (
        "and so is a second start, before any commit"
    )
    assert resume_position(None, NOW).lsn == lsn(40)


def test_a_log_that_nobody_has_captured_yet_is_waited_for() -> None:
    with pytest.raises(Transient) as caught:
        resume_position(None, replace(NOW, newest=None, instances=[instance("a", 7, None)]))
    assert caught.value.code == "sqlserver.log_not_begun"


def test_a_log_whose_old_commits_are_cleaned_away_still_continues() -> None:
    assert resume_position(SAVED, replace(NOW, newest=None)) == SAVED


ROW = DatabaseRow(
    "shop", True, "ONLINE", False, "Latin1_General_CI_AS", "2026-01-01T00:00:00", "srv", None, "f", "k"
)


def test_a_database_is_known_by_its_group_or_its_fork_or_its_name() -> None:
    assert identity_of(ROW) == DatabaseIdentity("f", "k", "srv/shop")
    grouped = ROW._replace(group="g")
    moved = grouped._replace(server="other", fork="after a failover")
    assert identity_of(grouped)[:2] == identity_of(moved)[:2] == ("g", "")
    azure = ROW._replace(family=None, fork=None)
    assert identity_of(azure) == DatabaseIdentity("srv/shop", "2026-01-01T00:00:00", "srv/shop")
    assert identity_of(azure) != identity_of(azure._replace(created="2027-01-01T00:00:00")), (
        "dropped and made again"
    )


def test_databases_and_their_logs_are_asked_for() -> None:
    assert databases_sql(["a'b", "c"]).endswith("WHERE d.name IN (N'a''b', N'c');")
    assert "WHERE name = DB_NAME();" in azure_sql()
    assert log_bounds_sql("a]b", lsn(7)).count("[a]]b].cdc.lsn_time_mapping") == 3
    assert log_bounds_sql(None, lsn(7)).endswith("WHERE start_lsn = 0x00000000000000000007);")
