"""What is left of the log for a reader that continues at a place, by the server's limits of age and size."""

from collections.abc import Mapping

import pytest

from wrackline.producers.sources.mysql.connect.server_facts import MySqlServerFacts
from wrackline.producers.sources.mysql.log.position import MySqlHistory, MySqlPosition, PreparedXa
from wrackline.producers.sources.mysql.resume.log_retention import LogFiles, LogRetention, oldest_file

HOUR = 3600


def place(file: int, offset: int, **prepared: str) -> MySqlPosition:
    parts = {xid: PreparedXa(name, 4) for xid, name in prepared.items()}
    history = MySqlHistory("here", f"binlog.{file:06}", 1)
    return MySqlPosition(1, file, offset, history=history, prepared=parts)


def facts(**settings: str) -> MySqlServerFacts:
    return MySqlServerFacts({"version": "9.7.0", **settings})


def kept() -> LogRetention:
    return LogRetention(int)


def test_what_is_behind_counts_from_the_place_to_the_end() -> None:
    told = kept().state_of(LogFiles({7: 1000, 8: 300, 9: 50}), facts(), place(8, 120))
    assert told.behind == 180 + 50
    assert kept().state_of(LogFiles({9: 50}), facts(), place(9, 60)).behind == 0


def test_by_age_goes_what_is_no_longer_written() -> None:
    known = facts(binlog_expire_logs_seconds="7200")
    files = LogFiles({8: 300, 9: 50}, old_for_s=HOUR)
    told = kept().state_of(files, known, place(8, 120))
    assert (told.kept_s, told.expires_s) == (2 * HOUR, HOUR)
    assert kept().state_of(LogFiles({8: 3, 9: 5}, old_for_s=3 * HOUR), known, place(8, 1)).expires_s == 0
    newest = kept().state_of(LogFiles({9: 50}), known, place(9, 20))
    assert (newest.kept_s, newest.expires_s) == (2 * HOUR, None)


@pytest.mark.parametrize(
    ("settings", "seconds"),
    [
        ({"binlog_expire_logs_seconds": "0", "expire_logs_days": "0"}, 0),
        ({"binlog_expire_logs_seconds": "7200", "expire_logs_days": "0.083333"}, 7200),
        ({"expire_logs_days": "2"}, 48 * HOUR),
        ({"binlog_expire_logs_seconds": "7200", "binlog_expire_logs_auto_purge": "OFF"}, 0),
    ],
)
def test_each_server_says_in_its_own_words_how_long_files_are_kept(
    settings: Mapping[str, str], seconds: int
) -> None:
    assert facts(**settings).log_kept_s == seconds
    told = kept().state_of(LogFiles({8: 3, 9: 5}, old_for_s=HOUR), facts(**settings), place(8, 1))
    assert told.expires_s == (seconds - HOUR if seconds else None)


@pytest.mark.parametrize("setting", ["max_binlog_total_size", "binlog_space_limit"])
def test_by_size_goes_what_the_rest_leaves_no_room_for(setting: str) -> None:
    files = LogFiles({7: 1000, 8: 300, 9: 50})
    assert kept().state_of(files, facts(**{setting: "1000"}), place(8, 120)).spare == 650
    assert kept().state_of(files, facts(**{setting: "1000"}), place(9, 20, xid="binlog.000007")).spare == 0
    assert kept().state_of(files, facts(), place(8, 120)).spare is None


def test_what_is_prepared_is_needed_from_its_own_file_on() -> None:
    assert oldest_file(place(9, 20)) == 9
    assert oldest_file(place(9, 20, one="binlog.000008", two="binlog.000004", elsewhere="")) == 4


def test_the_end_counts_what_is_written_and_never_goes_back() -> None:
    looks, known = kept(), facts()
    first = looks.state_of(LogFiles({8: 300, 9: 50}), known, place(8, 0))
    assert first.end == 350
    assert looks.state_of(LogFiles({9: 80}), known, place(9, 0)).end == 380
    assert looks.state_of(LogFiles({9: 100, 10: 7}), known, place(9, 0)).end == 407
    assert looks.state_of(LogFiles({11: 5}), known, place(11, 0)).end == 412
