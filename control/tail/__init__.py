"""`wrackline tail`: a pipeline's events, decoded.

    chosen.py    names that were given  -> topics
    start.py     --from                 -> the offset that each partition is begun at
    ends.py      Kafka                  -> how far each partition may be read
    reading.py   Kafka                  -> records, up to an end or for ever
    decoded.py   bytes, schemas         -> events, or why one is none; dates and decimals: logical.py
    lines.py     events                 -> a line for people; shown.py writes each value
    documents.py events                 -> a JSON object

All but ends.py, reading.py and command.py is pure.
"""
