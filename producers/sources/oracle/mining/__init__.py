"""What is mined: the rows, the log files that hold them, and the range that is safe.  Pure.

mined_row     one row of V$LOGMNR_CONTENTS
log_files     which log files a range needs, for each thread of redo
mining_range  how far may be mined, and in which steps
incarnation   which log this is
mined_piece   what the mining thread hands to the stream
"""
