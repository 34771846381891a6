"""Verbs that a worker elsewhere carries out: ours, or one of Kafka Connect.

remote_commands    pause, resume, restart, stop, connectors, apply
slo_command        how a promise of freshness went
draft_commands     list, show, edit, assess, deploy and export drafts
lineage_command    which columns fed a column, and when
worker_access      the worker's address, the log-in, and the trusted certificates
worker_client      one question over HTTP, and its answer
connector_states   when a verb has reached its end; pure
"""
