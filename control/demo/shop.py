"""The demo's shop: one table with a column of every usual kind, and the statements that change it.

In: which rows.  Out: SQL with its parameters.  Values are computed by the server from the row's number and a
seed, so a thousand rows are one statement.  `story` is stored out of line (TOAST): an update that leaves it
alone does not send it.
"""

from collections.abc import Sequence
from typing import LiteralString, NamedTuple

DATABASE = "shop"
SCHEMA = "public"
TABLE = "orders"

CREATE: LiteralString = """
CREATE TYPE order_status AS ENUM ('new', 'paid', 'packed', 'sent', 'returned');
CREATE SEQUENCE order_ids;
CREATE TABLE orders (
    id bigint PRIMARY KEY DEFAULT nextval('order_ids'),
    customer integer NOT NULL,
    status order_status NOT NULL,
    code varchar(32) NOT NULL,
    quantity smallint NOT NULL,
    amount numeric(10,2) NOT NULL,
    weight double precision,
    paid boolean NOT NULL,
    story text,
    details jsonb NOT NULL,
    tags text[] NOT NULL,
    sizes integer[],
    token uuid NOT NULL,
    label bytea,
    ordered_on date NOT NULL,
    ordered_at timestamptz NOT NULL,
    packed_at timestamp,
    opens time,
    waits interval
);
ALTER TABLE orders ALTER COLUMN story SET STORAGE EXTERNAL
"""
_STORY: LiteralString = "repeat(md5(n::text || %(seed)s), 70 + (n %% 60)::int)"  # 2.2 to 4.1 kB
_INSERT: LiteralString = (
    """
INSERT INTO orders (customer, status, code, quantity, amount, weight, paid, story, details, tags, sizes,
                    token, label, ordered_on, ordered_at, packed_at, opens, waits)
SELECT n %% 997, 'new', 'C-' || left(md5(n::text || %(seed)s), 12), n %% 30,
       round((random() * 99999)::numeric, 2), CASE WHEN n %% 7 > 0 THEN random() * 1e3 END, n %% 2 = 0,
       CASE WHEN n %% 3 > 0 THEN """
    + _STORY
    + """ END,
       jsonb_build_object('n', n, 'gift', n %% 5 = 0, 'note', 'Grüße 🌊 ' || n, 'parts', ARRAY[n, NULL]),
       ARRAY['tag ' || n %% 9, 'a,"b"', NULL], CASE WHEN n %% 4 > 0 THEN ARRAY[n, -n, NULL] END,
       gen_random_uuid(), decode(md5(n::text), 'hex'), date '2024-02-29' + (n %% 800)::int,
       clock_timestamp(), NULL, time '08:00' + n %% 600 * interval '1 minute',
       CASE WHEN n %% 6 = 0 THEN n %% 50 * interval '1 day 90 seconds' END
FROM generate_series(%(seed)s, %(seed)s + %(rows)s - 1) n
RETURNING id"""
)
_UPDATE: LiteralString = """
UPDATE orders SET status = 'paid', paid = true, amount = amount + 1, packed_at = clock_timestamp()
WHERE id = ANY(%(ids)s)"""
_REWRITE: LiteralString = (
    """
UPDATE orders o SET story = """
    + _STORY
    + """ FROM unnest(%(ids)s::bigint[]) n WHERE id = n"""
)
# the story is out of line and unchanged, so the log leaves it out, and the worker reads such a row by itself
_REKEY: LiteralString = "UPDATE orders SET id = nextval('order_ids') WHERE id = ANY(%(ids)s) RETURNING id"
_DELETE: LiteralString = "DELETE FROM orders WHERE id = ANY(%(ids)s)"

ADD_COLUMN: LiteralString = "ALTER TABLE orders ADD COLUMN gift_wrap varchar(20) NOT NULL DEFAULT 'plain'"


class Change(NamedTuple):
    """A statement, and how many events each row that it changes becomes."""

    statement: LiteralString
    parameters: dict[str, object]
    events_per_row: int = 1
    returns_ids: bool = False


def insert(rows: int, seed: int) -> Change:
    """Add rows; their ids come back."""
    return Change(_INSERT, {"rows": rows, "seed": seed}, returns_ids=True)


def update(ids: Sequence[int]) -> Change:
    """Change rows and leave the out-of-line column alone."""
    return Change(_UPDATE, {"ids": ids})


def rewrite(ids: Sequence[int], seed: int) -> Change:
    """Change the out-of-line column."""
    return Change(_REWRITE, {"ids": ids, "seed": seed})


def rekey(ids: Sequence[int]) -> Change:
    """Change the primary key: a delete and a create each; the new ids come back."""
    return Change(_REKEY, {"ids": ids}, events_per_row=2, returns_ids=True)


def delete(ids: Sequence[int]) -> Change:
    """Remove rows."""
    return Change(_DELETE, {"ids": ids})
