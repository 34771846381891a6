"""Mined rows into committed transactions, in one order, with bounded memory.  Nothing is ever abandoned.

transaction_buffer  the open transactions; which are handed out, and when
open_transaction    one of them: rows of each thread, and tables whose rows are in doubt
change_stack        the changes of one thread of a transaction; savepoint rollbacks take them off again
mined_change        rows of one change of one row: a statement with LOBs has several
split_rows          rows whose statement continues in the next one
slot_index          whose a row is that was mined without the start of its transaction
spill_file          changes that memory has no room for

What the statement that mines must select, besides the rows of captured tables: START, COMMIT and ROLLBACK of
all transactions, and INTERNAL rows whose ROW_ID names a row, because they end a statement with LOBs.
"""
