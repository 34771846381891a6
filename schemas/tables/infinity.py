"""What carries PostgreSQL's `infinity` and `-infinity`, on the wire and in tables.

The numbers of timestamps and the texts of zoned ones are Debezium's.  No date of a server has the days below.
A server's own timestamp could have the number LAST_MICROS: it is refused, so that the way back is certain.
"""

from typing import Final

FIRST_DAY: Final = -(2**31)
LAST_DAY: Final = 2**31 - 1
FIRST_MICROS: Final = -9_223_372_036_832_400_000
LAST_MICROS: Final = 9_223_372_036_825_200_000  # 294247-01-10 04:00:25.2
FIRST: Final = "-infinity"
LAST: Final = "infinity"
