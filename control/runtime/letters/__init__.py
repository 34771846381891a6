"""A pipeline's dead letters: records of its topics that could not become rows.

In: a pipeline that was found good.  Out: letters, and what a replay or a removal did.

    letters           list and drop
    letter_replay     merge again
    letter_work       both as one piece of work, for a process of its own
    letter_desk       a worker's desk: one piece of work at a time, and its newest outcome
"""
