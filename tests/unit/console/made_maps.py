"""Maps of a table's columns, made by hand."""

from wrackline.schemas.kafka.column_maps import ColumnMap, ColumnStep, MapLog

TABLE = "shop.public.orders"
MARCH, APRIL = 1_772_323_200_000, 1_775_001_600_000  # in UTC
HASHED = "salted hash (sha256)"


def learn(source: MapLog, target: MapLog, table: str = TABLE, word: str = "") -> None:
    """Let both halves know a table that was altered once; its e-mails are hidden since then."""
    key = ColumnStep("id", "id", "int64", "bigint")
    mail = ColumnStep(f"e-mail{word}", f"e_mail{word}", "string", f"text{word}")
    hidden = mail._replace(type="", how=word or HASHED)
    price = ColumnStep("price", "price", "decimal(10,2)", "numeric(10,2)")
    source.take(table, MARCH, ColumnMap(table, (key, mail)).encode())
    source.take(table, APRIL, ColumnMap(table, (key, hidden, price), (f"note{word}",)).encode())
    copied = (ColumnStep("id", "id", "int64"), ColumnStep(f"e_mail{word}", f"email_hash{word}", "string"))
    target.take(table, MARCH, ColumnMap(f"lake.orders{word}", copied).encode())
