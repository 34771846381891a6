"""PostgreSQL 14 to 18: logical replication with pgoutput, chunks by COPY.

In: settings and a server.  Out: a source as `producers/contract/` has it.

plugin         what the folder offers
source         one database as a source; puts the rooms together
databases      several databases of one server as one source
config         the settings
stream         polls the log and confirms what Kafka has
decode         messages of pgoutput into steps
heartbeat      a logical message now and then, and the user's query
server_objects what a pipeline leaves on the server: slot and publication
trials         what is tried before a start: log-in, log; clock, fixes
slot_owner     which pipeline a slot belongs to, as far as the server shows it

connect/       connections, timeouts, errors    discover/      the catalogue, types, column identity
rows/          rows to Avro                     log/           slot, position, continuity
follow/        publication, tables that come    chunks/        existing rows, marks
check/         the preflight
"""

from wrackline.producers.sources.postgres.plugin import PLUGIN

__all__ = ["PLUGIN"]
