"""What users write in small grammars, and what they read: findings and metrics.

In: text from settings, signals and REST.  Out: parsed values, which no later part has to check again; and
findings and metric lines as values, which every surface prints alike.

    conditions.py  the filter of a snapshot request
    patterns.py    which tables a request or a setting means
    masks.py       what replaces a value that must not leave as it is
    findings.py    what a check found, and the rules that define each kind of finding
    exposition.py  metrics as values, and their text for Prometheus
"""
