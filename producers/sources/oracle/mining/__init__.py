"""What is mined: the rows, the log files that hold them, and the range that is safe.

Pure:
mined_row      one row of V$LOGMNR_CONTENTS
log_files      which log files a range needs, for each thread of redo
mining_range   how far may be mined, and in which steps
incarnation    which log this is
mined_piece    what the mining thread hands to the stream
position       a place in the log, as our offsets keep it
mining_sql     the statements, and what their rows are

With sessions:
safe_scn       how far the log is complete
log_miner      mines range after range
mining_thread  does so in a thread of its own
"""
