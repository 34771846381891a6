"""Oracle 19c to 23ai, by LogMiner.  Not a source yet: the parts that need no database.

connect/       sessions
discover/      the catalogue
redo/          SQL_REDO, the text of a change
mining/        rows of V$LOGMNR_CONTENTS, and which range of the log may be mined
transactions/  mined rows into committed transactions
position       a place in the log, as our offsets keep it
"""
