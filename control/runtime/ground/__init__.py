"""Small parts that every other room of the runtime may use; they import no other room.

exits             the exit codes, and which error ends with which
times             the present moment
installed         which sources and targets are installed
revision          the commit that this program was built from
scrape_port       the small HTTP server for /metrics and /status
pipeline_access   a pipeline's group, its partition of the offsets, its source's surroundings
stop_signals      SIGTERM, SIGINT and SIGHUP as questions
terminal_text     text that a terminal only shows and never obeys
departure_text    a table that is gone at the source, and what becomes of its copy
number_text       counts and sizes in words
plain_json        documents as plain JSON values
table_names       the spellings of a table's name
"""
