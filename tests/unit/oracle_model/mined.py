"""A database that is mined by hand."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.fixtures.oracle_model import READER, Error, ModelOracle

FORMATS = (
    "ALTER SESSION SET NLS_DATE_FORMAT = 'SYYYY-MM-DD HH24:MI:SS'"
    " NLS_TIMESTAMP_FORMAT = 'SYYYY-MM-DD HH24:MI:SS.FF9'"
    " NLS_TIMESTAMP_TZ_FORMAT = 'SYYYY-MM-DD HH24:MI:SS.FF9 TZH:TZM' NLS_NUMERIC_CHARACTERS = '.,'"
    " TIME_ZONE = '00:00'"
)
ADD = "BEGIN SYS.DBMS_LOGMNR.ADD_LOGFILE(LOGFILENAME => :f, OPTIONS => SYS.DBMS_LOGMNR.ADDFILE); END;"
START = (
    "BEGIN SYS.DBMS_LOGMNR.START_LOGMNR(STARTSCN => :a, ENDSCN => :b, OPTIONS =>"
    " SYS.DBMS_LOGMNR.DICT_FROM_ONLINE_CATALOG + SYS.DBMS_LOGMNR.NO_ROWID_IN_STMT); END;"
)
END = "BEGIN SYS.DBMS_LOGMNR.END_LOGMNR; END;"
PLACES = ("SCN", "THREAD#", "RS_ID", "SSN", "RAWTOHEX(XID)")
MOST = ("OPERATION_CODE", "ROLLBACK", "ROW_ID", "SQL_REDO", *PLACES, "CSF", "STATUS", "INFO")
Mined = dict[str, Any]


class Miner:
    """A session that reads a model's log."""

    def __init__(self, model: ModelOracle, **log_in: str) -> None:
        """Log in as a reader that is made for it."""
        self.model = model
        name = "C##READER" if model.database.has_containers else "READER"
        model.create_user(name, "secret", *READER)
        self.connection = model.driver.connect(user=name, password="secret", **log_in)
        self.run(FORMATS)

    def run(self, sql: str, **binds: object) -> int:
        """Run a statement."""
        return self.connection.cursor().execute(sql, binds).rowcount

    def ask(self, sql: str, **binds: object) -> list[tuple[Any, ...]]:
        """Run a query."""
        return list(self.connection.cursor().execute(sql, binds, fetch_lobs=False).fetchall())

    def files(self) -> list[str]:
        """Return a file for each log that is there."""
        online = self.ask(
            "SELECT MIN(F.MEMBER), L.THREAD#, L.SEQUENCE# FROM V$LOGFILE F JOIN V$LOG L"
            " ON L.GROUP# = F.GROUP# WHERE L.STATUS <> 'UNUSED' GROUP BY L.THREAD#, L.SEQUENCE#"
        )
        archived = self.ask("SELECT NAME, THREAD#, SEQUENCE# FROM V$ARCHIVED_LOG WHERE NAME IS NOT NULL")
        return list({place: name for name, *rest in [*online, *archived] if (place := tuple(rest))}.values())

    def mine(
        self, start: int = 0, end: int = 0, *columns: str, files: list[str] | None = None
    ) -> list[Mined]:
        """Mine a range; without columns, what most tests look at."""
        names = columns or (
            "OPERATION_CODE",
            "ROLLBACK",
            "ROW_ID",
            "SQL_REDO",
            *PLACES,
            "CSF",
            "STATUS",
            "INFO",
        )
        for file in self.files() if files is None else files:
            self.run(ADD, f=file)
        self.run(START, a=start, b=end)
        try:
            rows = self.ask(f"SELECT {', '.join(names)} FROM V$LOGMNR_CONTENTS")
        finally:
            self.run(END)
        return [dict(zip(names, row, strict=True)) for row in rows]

    def redo(self, start: int = 0, end: int = 0) -> list[str]:
        """Return what the range did to rows."""
        rows = self.mine(start, end, "OPERATION_CODE", "SQL_REDO")
        return [row["SQL_REDO"] for row in rows if row["OPERATION_CODE"] in {1, 2, 3}]


@contextmanager
def refused(number: int) -> Iterator[None]:
    """Expect an error of the server."""
    with pytest.raises(Error) as caught:
        yield
    assert caught.value.args[0].code == number
    assert caught.value.args[0].full_code in {f"ORA-{number:05d}", "DPY-4011"}
    assert f"ORA-{number:05d}: " in caught.value.args[0].message


def shop(**more: Any) -> ModelOracle:
    """Make a database with a table."""
    model = ModelOracle(**more)
    model.create_table("SHOP.ORDERS", {"ID": "NUMBER(10)", "NAME": "VARCHAR2(20)"}, key=("ID",))
    return model
