"""What a setting is, how a configuration is read, and what its values may reach.

In: a map of texts.  Out: typed values, or every problem at once.  `declared/` holds the settings themselves.

    setting.py            how a setting is declared
    value_kinds.py        from a text to a typed value, and what may be required of it
    settings_registry.py  reads a configuration against all declared settings
    secret_refs.py        references to secrets, and the allow-list of what they may read
    host_policy.py        which hosts a setting may name
    passthrough.py        which settings may be passed on to Spark, Hadoop or Iceberg
    filters.py            table and column filters and masks, parsed once
    overrides.py          statements of the user's own for the first read of a table
"""
