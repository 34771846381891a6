"""The snapshot machine against a world of models, one history after another, each from one integer.

    chance -> settings -> database -> stream -> task -> machine          told: what a release must equal
                               '-----> readers ---'   '-> publisher -> replica: what a reader may see

`history` runs one and judges it, `volume` runs many, `planting` and `faults` break something on purpose,
`hunt` finds the seeds that show it.  One history in words: `python -m tests.simulation.volume <seed> 1`.
"""
