"""The preflight: what prevents the copy of a server, each finding with the SQL that solves it.

In: a server, the settings.  Out: findings, the most severe first.  Nothing is changed.

    check              the list of probes, and what they share
    check_server       the server itself: version, log, GTIDs, replica ids
    check_access       missing rights, found by a try of what a pipeline does
    check_tables       engines, keys, foreign keys and types of each table
    check_values       values that do not fit their column's type, by a short look
    check_rules        the findings about a server, as texts
    check_table_rules  the findings about tables, as texts
"""
