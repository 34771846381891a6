"""Oracle 19c to 23ai: the redo log by LogMiner, existing rows AS OF SCN.

In: settings and a server.  Out: a source as `producers/contract/` has it.

plugin        what the folder offers
source        a database as a source; puts the rooms together
config        the settings
unhonoured    what others can set, and we not
stream        pieces of the log, polled
decode        mined rows into steps
outgoing_transaction  one that is handed out
resolver      what the decoder gets from outside
heartbeat     the user's query, now and then
trials        what is tried before a start

connect/      sessions                    discover/      the catalogue, types, shapes
redo/         SQL_REDO, a change's text   mining/        rows of LogMiner, and which range is mined
transactions/ rows into transactions      rows/          statements and cells to Avro
follow/       tables, continuity          chunks/        existing rows, fences
check/        the preflight               assume/        what no document promises, tried
"""

from wrackline.producers.sources.oracle.plugin import PLUGIN

__all__ = ["PLUGIN"]
