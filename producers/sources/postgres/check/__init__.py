"""The preflight: what prevents the copy of a database, each finding with the SQL that solves it.

In: a server, the settings.  Out: findings, the most severe first.  Nothing is changed.

    check              the list of probes, and what they share
    check_server       the server itself: version, limits, the connection to the log
    check_slot         the slot, and the log that it holds back
    check_publication  a publication that is missing, or that leaves something out
    check_messages     which roles may write logical messages; the event trigger
    check_tables       grants, identity, keys and types of each table
    check_first_reads  conditions of first reads that can't be used
    check_values       values that do not fit their column's type, by a short look
    check_rules        findings about the server, as texts
    check_table_rules  findings about tables, as texts
"""
