"""SQL Server 2016 to 2022: change tables in their clustered order, chunks by SELECT.

In: settings and a server.  Out: a source as `producers/contract/` has it.

plugin     what the folder offers
source     the databases of a server as one source
database   one database; puts the rooms together
config     the settings
stream     pieces of the log, polled
decode     changes into steps
resolver   what the decoder gets from outside
trials     what is tried before a start: log-in, log; clock, fixes
heartbeat  the user's query, now and then

connect/   names in SQL, errors                  session/   sessions with our options
wire/      TDS                                   discover/  the catalogue, types, collations
log/       places, pages, their order            poll/      round trips, the thread that makes them
rows/      rows to Avro                          follow/    which capture instance is read
chunks/    existing rows, marks                  check/     the preflight
assume/    what no document promises, tried
"""

from wrackline.producers.sources.sqlserver.plugin import PLUGIN

__all__ = ["PLUGIN"]
