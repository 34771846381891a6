"""The preflight of a source: the part that is the same for every server.

In: a source's probes, its tables, and what its catalogue says of them.  Out: findings, the most severe first.

    probes             one probe, all probes in their order, and an error as a finding
    table_scope        which of the listed tables a check looks at, and which are absent
    column_findings    what types, rules about columns and stored values mean for a table
"""
