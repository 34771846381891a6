"""Every type's values through our stream and through mysql-replication: the same, but where it is wrong."""

import uuid
from collections.abc import Iterator

import pytest

from tests.integration.mysql import peer
from tests.integration.mysql.followed import Followed
from tests.integration.mysql.test_rows import BYTES, NUMBERS, OF_MARIADB, OF_MYSQL, TEXTS, TIMES, literal
from tests.integration.mysql.world import root
from wrackline.control.local.stack.servers import MysqlServer

pytestmark = pytest.mark.servers

GROUPS = {"numbers": NUMBERS, "times": TIMES, "texts": TEXTS, "bytes": BYTES}
# MariaDB's compressed columns it does not know, UTF-16 it reads from the wrong end, labels as UTF-8 only.
_NOT_ITS_OWN = ("compressed", "utf16", "enum('é'")
_NO_DAY_OF_PYTHON_S = "0000-05-06"


@pytest.fixture
def database(server: MysqlServer) -> Iterator[str]:
    """A database of the test's own."""
    name = f"p_{uuid.uuid4().hex[:10]}"
    with root(server) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name} CHARACTER SET utf8mb4")
        yield name
        cursor.execute(f"DROP DATABASE {name}")


@pytest.mark.parametrize("group", [*GROUPS, "own"])
def test_another_decoder_of_the_log_finds_what_we_publish(
    server: MysqlServer, database: str, group: str
) -> None:
    followed = Followed(server, database)
    with root(server, database=database) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT version()")
        own = OF_MARIADB if "MariaDB" in cursor.fetchall()[0][0] else OF_MYSQL
        types = {
            name: held
            for name, held in GROUPS.get(group, own).items()
            if not any(map(name.count, _NOT_ITS_OWN))
        }
        cursor.execute("SET time_zone = '+00:00', sql_mode = '', NAMES utf8mb4")
        columns = ", ".join(f"c{i} {type_} null" for i, type_ in enumerate(types))
        cursor.execute(f"CREATE TABLE t (id int PRIMARY KEY AUTO_INCREMENT, {columns})")
        for number in range(max(map(len, types.values())) + 1):
            row = [
                literal(one[number]) if number < len(one) and one[number] != _NO_DAY_OF_PYTHON_S else "NULL"
                for one in types.values()
            ]
            cursor.execute(f"INSERT INTO t VALUES (NULL, {', '.join(row)})")
        cursor.execute("UPDATE t SET id = id + 100 WHERE id = 1")
        cursor.execute("DELETE FROM t WHERE id = 2")
    followed.read()
    assert not followed.faults
    assert followed.differences() == []
    rows = peer.logged(server, database, followed.start, followed.log_end())
    assert peer.differences(followed.changes, rows) == []
    followed.close()
