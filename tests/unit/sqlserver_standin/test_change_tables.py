"""The change tables, rule by rule; decision 42 (docs/decisions/) says where each rule is written."""

import datetime as dt

import pytest

from tests.unit.sqlserver_standin.shop import Shop, shop
from wrackline.control.local.sqlserver_standin.model.capture import AFTER, BEFORE, DELETE, DUMMY, INSERT
from wrackline.control.local.sqlserver_standin.model.log_numbers import (
    LogNumbers,
    as_number,
    as_text,
    incremented,
    lsn,
)
from wrackline.control.local.sqlserver_standin.wire.server_error import ServerError


def test_each_change_of_a_transaction_has_its_commit_lsn_and_one_mapping_row() -> None:
    one = shop()
    with one.database.transaction() as write:
        write.insert("orders", {"id": 1}, {"id": 2})
        write.update("orders", {"amount": 5}, {"id": 1})
        write.delete("orders", {"id": 2})
    assert one.database.scan() == 1
    assert one.changes("id", "amount") == [
        (INSERT, 1, 1, None),
        (INSERT, 1, 2, None),
        (BEFORE, 2, 1, None),
        (AFTER, 2, 1, 5),
        (DELETE, 3, 2, None),
    ]
    commits = {row.start_lsn for row in one.instance.rows}
    mapping = one.database.job().mapping
    assert [row.start_lsn for row in mapping] == list(commits)
    assert all(row.seqval < row.start_lsn for row in one.instance.rows)
    assert len({row.seqval for row in one.instance.rows}) == 4, "both images of an update share one"


def test_a_mask_has_every_bit_for_inserts_and_deletes_and_the_changed_ones_for_updates() -> None:
    columns = {f"c{number}": "int" for number in range(1, 11)}
    one = shop(columns, key=("c1",))
    with one.database.transaction() as write:
        write.insert("orders", {"c1": 1})
        write.update("orders", {"c2": 5, "c10": 5}, {"c1": 1})
        write.delete("orders", {"c1": 1})
    one.database.scan()
    masks = [row.mask for row in one.instance.rows]
    assert masks == [b"\x03\xff", b"\x02\x02", b"\x02\x02", b"\x03\xff"], (
        "the first column is the lowest bit of the last byte"
    )


def test_long_values_that_did_not_change_are_null_in_the_image_before() -> None:
    one = shop()
    with one.database.transaction() as write:
        write.insert("orders", {"id": 1, "note": "long", "old": "older"})
        write.update("orders", {"amount": 1}, {"id": 1})
        write.update("orders", {"note": "longer", "old": "new"}, {"id": 1})
        write.delete("orders", {"id": 1})
    one.database.scan()
    assert [(row[0], *row[2:]) for row in one.changes("note", "old")] == [
        (INSERT, "long", "older"),
        (BEFORE, None, None),
        (AFTER, "long", "older"),
        (BEFORE, "long", None),
        (AFTER, "longer", "new"),
        (DELETE, "longer", None),
    ]


def test_a_computed_column_is_null() -> None:
    one = shop({"id": "int", "double": "int computed"})
    with one.database.transaction() as write:
        write.insert("orders", {"id": 1, "double": 2})
    one.database.scan()
    assert one.changes("id", "double") == [(INSERT, 1, 1, None)]


def test_an_update_of_one_row_s_key_is_a_delete_and_an_insert_with_one_seqval() -> None:
    one = shop()
    with one.database.transaction() as write:
        write.insert("orders", {"id": 1, "note": "a"})
    with one.database.transaction() as write:
        write.update("orders", {"id": 2}, {"id": 1})
    one.database.scan()
    assert one.changes("id", "note")[1:] == [(DELETE, 1, 1, "a"), (INSERT, 2, 2, "a")]
    first, second = one.instance.rows[1:]
    assert (first.start_lsn, first.seqval) == (second.start_lsn, second.seqval)


def test_an_update_of_many_keys_is_all_deletes_then_all_inserts() -> None:
    one = shop()
    with one.database.transaction() as write:
        write.insert("orders", *({"id": number} for number in (1, 2, 3)))
    with one.database.transaction() as write:
        write.update("orders", lambda row: {"id": int(str(row["id"])) + 1})
    one.database.scan()
    assert one.changes()[3:] == [
        (DELETE, 1, 1),
        (DELETE, 1, 2),
        (DELETE, 1, 3),
        (INSERT, 2, 2),
        (INSERT, 2, 3),
        (INSERT, 2, 4),
    ]
    assert len({row.seqval for row in one.instance.rows[3:]}) == 6


def test_an_update_of_a_unique_column_keeps_the_seqval_for_both_halves() -> None:
    one = shop({"id": "int", "code": "int"}, unique=("code",))
    with one.database.transaction() as write:
        write.insert("orders", {"id": 1, "code": 1}, {"id": 2, "code": 2})
    with one.database.transaction() as write:
        write.update("orders", lambda row: {"code": int(str(row["code"])) + 10})
    one.database.scan()
    deletes, inserts = one.instance.rows[2:4], one.instance.rows[4:]
    assert [row.operation for row in one.instance.rows[2:]] == [DELETE, DELETE, INSERT, INSERT]
    assert [row.seqval for row in deletes] == [row.seqval for row in inserts]


def test_an_update_that_is_not_deferred_is_a_pair_whose_key_differs() -> None:
    one = shop(defers=False)
    with one.database.transaction() as write:
        write.insert("orders", {"id": 1})
        write.update("orders", {"id": 2}, {"id": 1})
    one.database.scan()
    assert one.changes()[1:] == [(BEFORE, 2, 1), (AFTER, 2, 2)]


def test_what_is_rolled_back_is_nowhere_and_what_a_savepoint_gives_up_too() -> None:
    one = shop()
    write = one.database.begin()
    write.insert("orders", {"id": 1})
    write.rollback()
    with one.database.transaction() as write:
        write.insert("orders", {"id": 2})
        write.save("here")
        write.insert("orders", {"id": 3})
        write.back_to("here")
        write.insert("orders", {"id": 4})
    one.database.scan()
    assert [row[2] for row in one.changes()] == [2, 4]


def test_the_job_stays_as_far_behind_the_log_as_it_is_told() -> None:
    one = shop()
    for number in range(5):
        with one.database.transaction() as write:
            write.insert("orders", {"id": number})
    one.database.job().behind = 2
    assert one.database.scan() == 3
    assert [row[2] for row in one.changes()] == [0, 1, 2]
    one.database.job().behind = 0
    assert one.database.scan(most=1) == 1
    one.database.job().runs = False
    assert one.database.scan() == 0
    one.database.job().runs = True
    assert one.database.scan() == 1


def test_a_transaction_of_tables_that_are_not_captured_has_no_mapping_row() -> None:
    one = shop()
    one.database.create_table("dbo.other", {"id": "int"}, key=("id",))
    with one.database.transaction() as write:
        write.insert("other", {"id": 1})
    assert one.database.scan() == 0
    assert one.database.job().mapping == []


def test_a_quiet_log_gets_a_row_after_five_minutes_and_not_while_transactions_wait() -> None:
    one = shop()
    one.database.run_jobs()
    assert one.database.job().mapping == []
    one.server.advance(minutes=5)
    one.database.run_jobs()
    (row,) = one.database.job().mapping
    assert row.transaction == DUMMY
    with one.database.transaction() as write:
        write.insert("orders", {"id": 1})
    one.database.job().behind = 1
    one.server.advance(minutes=5)
    one.database.run_jobs()
    assert one.database.job().mapping == [row], "it would lie above a transaction that is not there yet"
    one.database.job().behind = 0
    one.database.scan()
    assert one.database.job().mapping[1].start_lsn > row.start_lsn


def test_a_new_instance_starts_where_the_job_reads_of_it() -> None:
    one = shop()
    one.database.job().runs = False
    with one.database.transaction() as write:
        write.insert("orders", {"id": 1})
    second = one.database.enable_table("dbo.orders", "second")
    assert [each.start_lsn is None for each in one.database.job().instances.values()] == [False, True]
    with one.database.transaction() as write:
        write.insert("orders", {"id": 2})
    one.database.job().runs = True
    one.database.scan()
    assert [row.cells[0] for row in second.rows] == [2]
    assert second.start_lsn is not None
    assert one.instance.rows[0].start_lsn < second.start_lsn < one.instance.rows[1].start_lsn
    with pytest.raises(ServerError, match="Two capture instances already exist"):
        one.database.enable_table("dbo.orders", "third")


def altered() -> Shop:
    one = shop({"id": "int", "a": "int"})
    with one.database.transaction() as write:
        write.insert("orders", {"id": 1, "a": 1})
    return one


def test_a_column_that_is_added_is_missing_until_a_second_instance_has_it() -> None:
    one = altered()
    one.database.add_column("orders", "b", "int", fill=7)
    with one.database.transaction() as write:
        write.insert("orders", {"id": 2, "b": 9})
    second = one.database.enable_table("dbo.orders", "orders_2")
    with one.database.transaction() as write:
        write.insert("orders", {"id": 3, "b": 9})
    one.database.scan()
    assert [column.name for column in one.instance.columns] == ["id", "a"]
    assert [row.cells for row in one.instance.rows] == [(1, 1), (2, None), (3, None)]
    assert [row.cells for row in second.rows] == [(3, None, 9)]
    (history,) = one.database.job().ddl
    assert (history.object_id, history.required_column_update) == (one.instance.object_id, False)
    assert history.command == "ALTER TABLE dbo.orders ADD [b] int"


def test_a_column_that_is_dropped_is_null_from_then_on_even_if_its_name_comes_back() -> None:
    one = altered()
    one.database.drop_column("orders", "a")
    one.database.add_column("orders", "a", "int")
    with one.database.transaction() as write:
        write.insert("orders", {"id": 2, "a": 5})
    one.database.scan()
    assert [row.cells for row in one.instance.rows] == [(1, 1), (2, None)]


def test_a_new_type_reaches_the_change_table_when_the_job_reads_of_it() -> None:
    one = altered()
    one.database.scan()
    one.database.alter_column("orders", "a", "bigint")
    assert str(one.instance.columns[1].of) == "int"
    with one.database.transaction() as write:
        write.insert("orders", {"id": 2, "a": 2**40})
    one.database.scan()
    assert str(one.instance.columns[1].of) == "bigint"
    assert [row.cells for row in one.instance.rows] == [(1, 1), (2, 2**40)]
    assert [row.required_column_update for row in one.database.job().ddl] == [True]


def test_the_history_of_an_instance_that_is_gone_stays() -> None:
    one = altered()
    one.database.add_column("orders", "b", "int")
    one.database.scan()
    one.database.disable_table("dbo_orders")
    assert [row.object_id for row in one.database.job().ddl] == [one.instance.object_id]
    assert one.database.job().instances == {}


def test_a_dropped_table_has_a_drop_pending() -> None:
    one = altered()
    one.database.drop_table("orders")
    assert not one.instance.has_drop_pending
    one.database.scan()
    assert one.instance.has_drop_pending


def test_a_captured_table_is_not_truncated() -> None:
    one = altered()
    with pytest.raises(ServerError) as caught:
        one.database.truncate("orders")
    assert caught.value.number == 4711
    one.database.disable_table("dbo_orders")
    one.database.truncate("orders")
    assert one.database.begin().own_rows(one.database.table("orders")) == []


def test_a_value_over_the_limit_fails_the_writer() -> None:
    one = shop()
    with pytest.raises(ServerError) as caught, one.database.transaction() as write:
        write.insert("orders", {"id": 1, "note": "x" * 32_769})
    assert caught.value.number == 7139
    with one.database.transaction() as write:
        write.insert("orders", {"id": 1, "note": "x" * 32_768})


def cleaned(minutes: int) -> Shop:
    one = shop()
    for number in range(4):
        with one.database.transaction() as write:
            write.insert("orders", {"id": number})
        one.server.advance(minutes=minutes)
    one.database.scan()
    return one


def test_a_clean_up_counts_back_from_the_newest_commit_and_raises_the_start_first() -> None:
    one = cleaned(minutes=10)
    one.server.advance(days=30)
    job = one.database.job()
    mark = job.low_water(dt.timedelta(minutes=20))
    assert mark == job.mapping[1].start_lsn
    job.raise_low_water(mark)
    assert one.instance.start_lsn == mark
    assert len(one.instance.rows) == 4, "a reader between the two halves still sees the rows"
    assert job.delete_expired() == 1
    assert [row[2] for row in one.changes()] == [1, 2, 3]
    assert [row.start_lsn for row in job.mapping] == [row.start_lsn for row in one.instance.rows]


def test_commits_of_one_moment_stay_together_in_a_clean_up() -> None:
    one = cleaned(minutes=0)
    assert one.database.clean_up(dt.timedelta(0)) == 0
    assert one.instance.start_lsn == one.instance.rows[0].start_lsn


def test_a_clean_up_gives_two_instances_one_start_and_leaves_a_newer_one() -> None:
    one = cleaned(minutes=10)
    second = one.database.enable_table("dbo.orders", "second")
    one.database.scan()
    newer = second.start_lsn
    one.database.clean_up(dt.timedelta(minutes=10))
    assert second.start_lsn == newer
    for number in (10, 11):
        with one.database.transaction() as write:
            write.insert("orders", {"id": number})
        one.server.advance(minutes=10)
    one.database.scan()
    one.database.clean_up(dt.timedelta(0))
    assert one.instance.start_lsn == second.start_lsn, (
        "the equal starts that readers of two instances must tell apart"
    )


def test_rows_can_be_held_back_to_break_what_a_reader_relies_on() -> None:
    one = shop()
    second = one.database.enable_table("dbo.orders", "second")
    one.database.scan()
    with one.database.transaction() as write:
        write.insert("orders", {"id": 1})
    one.database.scan(late={"second"})
    assert (len(one.instance.rows), len(second.rows), len(one.database.job().mapping)) == (1, 0, 1)
    one.database.scan()
    assert len(second.rows) == 1


def test_log_numbers_rise_over_blocks_and_files_and_have_three_forms() -> None:
    numbers = LogNumbers(block=0x3FF8)
    given = [numbers.next()]
    numbers.close_block()
    given += [numbers.next(), numbers.next()]
    assert given == [lsn(0x2A, 0x3FF8, 1), lsn(0x2B, 8, 1), lsn(0x2B, 8, 2)]
    assert as_number(given[0]) == 42 * 10**15 + 0x3FF8 * 10**5 + 1
    assert as_text(given[0]) == "0000002a:00003ff8:0001"
    assert incremented(lsn(1, 1, 0xFFFF)) == lsn(1, 2, 0)
