"""The change tables, read as one log.

lsn           places as the server writes them
position      places as our offsets keep them
change_rows   one row of a change table: its place in the order of all of them
changes       rows of a page and of a commit into changes (compiled)
page_merger   pages of several change tables into transactions
page_sql      the statements of a poll
range_audit   whether rows came late into what was read
"""
