"""`wrackline tail`: a pipeline's events, decoded.

    chosen.py    names that were given  -> topics
    start.py     --from                 -> the offset that each partition is begun at
    reading.py   Kafka                  -> records, up to an end or for ever
    decoded.py   bytes, schemas         -> events, or why a record is none
    lines.py     events                 -> a line for people
    documents.py events                 -> a JSON object

All but reading.py and command.py is pure.
"""
