"""MySQL and MariaDB: the binary log in rows, existing rows by binary results.

source         the plug-in and the source; puts the rooms together
config         the settings
stream         polls the log
decode         events into steps
heartbeat      the user's query that is run now and then
server_objects what a pipeline leaves on the server
trials         what is tried before a start: log-in, log; clock, fixes

connect/       connections and errors           discover/      the catalogue, types, shapes
events/        the log's bytes                  rows/          rows to Avro
ddl/           what statements do               log/           places, dump, packets
follow/        tables that appear and go        transactions/  one transaction, XA
resume/        opening the log                  chunks/        existing rows, marks
check/         the preflight
"""

from wrackline.producers.sources.mysql.source import PLUGIN

__all__ = ["PLUGIN"]
