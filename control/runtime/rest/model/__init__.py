"""Connectors as REST knows them, and the documents that come in and go out.

connectors          the protocols `Connectors` and `WritableConnectors`, and what they may refuse
connect_documents   Kafka Connect's documents of a connector and its task
answer              the form of all answers, errors included
body                a request's body, up to a bound
kept_answers        answers to requests that are done once
shared_sessions     what a group's workers have in common of sessions
sent_settings       settings in a request
sent_positions      positions in a request
settings_in_force   the settings that a pipeline runs with, and where each comes from
drafts              the protocol `Drafts`, and what it may refuse
masked_secrets      masked secrets that come back in settings
"""
