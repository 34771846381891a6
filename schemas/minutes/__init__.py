"""Minutes in which the copies of a pipeline's tables were fresh enough, and those in which they were not.

slo_terms        what is promised: the settings
minute_records   a day of minutes of a half or a table: its record, and the fold of all of them
minute_book      samples of freshness become records; for the target half
minute_counts    records become counts, percent and what is left of the budget; for everybody

All of it is pure.
"""
