"""What the board remembers of the past, beside the present state.

In: the records of the board.  Out: frozen values.

    error_days.py    how often each error came on each day
"""
