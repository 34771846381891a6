"""The preflight: what prevents a run, each with the SQL that solves it.

check         the probes, in their order
check_rules   all findings, and the statements that repair
check_server  when each of them applies
facts_sql     the statements that ask
grants        the rights of a pipeline's login, and the proof that it has them
"""
