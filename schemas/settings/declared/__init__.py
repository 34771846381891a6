"""The settings that every pipeline may have, declared one file for each topic.

In: nothing.  Out: `Declared` values, which the settings registry reads a configuration against.  The settings
that only one database or target understands are declared in that plug-in's `config.py`.

    core_settings.py           adds up all others, with those that belong to no other file
    consume_settings.py        merging into the target, Spark, and how old copies may be
    snapshot_settings.py       reading existing rows
    source_settings.py         what several sources declare alike
    target_settings.py         the target: its kind, changes of shape, and what a table keeps
    kafka_client_settings.py   the allow-list of the Kafka client's settings
    libpq_settings.py          how a PostgreSQL server is reached
    lineage_settings.py        OpenLineage
    notify_settings.py         notices by webhook
    guardrail_settings.py      limits on the number of tables
    handling_mode_settings.py  Debezium's handling modes, each fixed to one answer
    not_yet_settings.py        settings that are declared but have no effect yet
    unhonoured_settings.py     settings of others that have no effect here, each with its reason
"""
