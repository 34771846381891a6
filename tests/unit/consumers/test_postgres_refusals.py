"""Hints about the target's door: in the commands that they print, a name stays one name."""

import shlex

import pytest
from psycopg import conninfo

from wrackline.consumers.targets.postgres.refusals import connection_error

USER, DATABASE = 'it\'s "me"; touch made', "a=b $(touch made)"


@pytest.mark.parametrize("reason", ["no route", "password authentication failed"])
def test_psql_in_a_hint_connects_to_the_names_that_were_given(reason: str) -> None:
    hint = connection_error(reason, "db", "5433", USER, DATABASE).hint
    command = shlex.split(hint[hint.index("psql ") :])
    assert (command[0], len(command)) == ("psql", 2)
    assert conninfo.conninfo_to_dict(command[1]) == {
        "host": "db",
        "port": "5433",
        "user": USER,
        "dbname": DATABASE,
    }


def test_names_in_a_line_of_pg_hba_are_quoted() -> None:
    hint = connection_error("requested a cleartext password", "db", "5432", 'a "b"', "the shop").hint
    assert 'hostssl "the shop" "a ""b""" <address>' in hint
