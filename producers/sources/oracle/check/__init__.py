"""The preflight: what prevents the copy of a database, each finding with the statement that solves it.

check         the probes, over sessions
check_rules   all findings
check_server  when they apply
grants        the rights that a pipeline needs, and a proof of each
facts_sql     the statements that look
"""
