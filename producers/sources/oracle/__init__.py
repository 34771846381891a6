"""Oracle, by LogMiner: parts of a source that is being built, so the folder offers none yet.

redo/      SQL_REDO, the text of a change
"""
