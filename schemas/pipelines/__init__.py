"""A pipeline's whole configuration, and the plug-ins that it names.

In: a TOML file or a map of settings.  Out: a checked pipeline, or every problem of it.

    pipeline.py              reads and checks a configuration
    plugin_finder.py         finds a source or a target by its name, ours and those of others
    publication_settings.py  settings that several parts must read alike: topic names, skipped operations
    table_lists.py           list settings that single tables may add to
    libpq.py                 the settings that go to libpq, field by field
    deal.py                  which task reads which databases
    lineage_names.py         where a table or topic is, as OpenLineage names it
"""
