"""TDS 7.4 as bytes, from the public specification [MS-TDS]; nothing here knows a socket or a database.

packets       messages cut into packets, and joined again login         PRELOGIN and LOGIN7 requests
batches, calls and transaction requests tokens        what answers are made of sql_types     data types and
how they are declared values        cells of each type as bytes fitting       values of a type out of what a
program wrote moments       dates and times to 100 ns collations    code pages and order of texts
byte_reader   numbers and texts off a client's bytes server_error  errors by number
"""
