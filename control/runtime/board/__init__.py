"""The board: what both halves of each pipeline report of themselves, on a compacted topic of each pipeline.

    source half -> source_report -> board_writer -> wrackline-<name>-status -> board_reader    one command
    target half -> target_report ->      "       ->            "            -> board_follower  a worker

source_report, target_report    what a half reports: pure, but for its clock
board_progress                  how far the source half is, for the target half
half_standing                   the state of its process
range_report                    how far each key range of a table under way is
board_changes                   which records are due: those that differ, and a sign of life; pure
map_changes                     which maps of columns are due: each that is new
board_writer                    a thread of the half that writes them, and never keeps the half waiting
gone_tables                     which tables are gone at the source, for the target half
tasks/                          a half from the reports of its tasks
board_summary                   what a board adds up to, and the last samples of it; pure
board_reader                    reads the board of one pipeline to its end
receipt_fold                    the newest requests of a pipeline
board_follower                  follows boards and receipts of many pipelines into memory

Nobody asks a database, Kafka or a target to know how a pipeline is: that is on the board, on every machine.
"""
