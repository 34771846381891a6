"""Asks the demo's stand-in for SQL Server: `python -m … HOST PORT USER PASSWORD DATABASE "SELECT …"`.

In: where it is, and a statement.  Out: its rows, or how many rows it has changed.
"""

import sys
from contextlib import closing

import pytds


def main() -> None:
    """Run one statement."""
    if len(sys.argv) != 7:
        sys.exit(__doc__)
    host, port, user, password, database, statement = sys.argv[1:]
    found = pytds.connect(host, database, user, password, port=int(port), autocommit=True)
    with closing(found) as db, closing(db.cursor()) as cursor:
        cursor.execute(statement)
        rows = cursor.fetchall() if cursor.description else [(f"{cursor.rowcount} rows changed",)]
    for row in rows:
        sys.stdout.write("\t".join(map(str, row)) + "\n")


if __name__ == "__main__":
    main()
