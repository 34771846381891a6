"""The preflight: what prevents the copy of a database, each finding with the SQL that solves it.

In: a server, the settings.  Out: findings, the most severe first.  Nothing is changed.

    check              runs all of it, in order, and looks at the server and the slot
    check_publication  a publication that is missing, or that leaves something out
    check_messages     which roles may write logical messages; the event trigger
    check_tables       grants, identity, keys and types of each table
    check_columns      what the rules about columns do to the tables
    check_first_reads  what the settings about first reads mean for the tables
    check_values       values that do not fit their column's type, by a short look
    check_rules        all findings, as texts
"""
