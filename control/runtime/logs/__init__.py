"""The log lines of the long-running commands.

In: what the runtime and its libraries report.  Out: lines of text for people, or one JSON object a line.

    lines       the two forms of a line, and lines that another process hands over
    libraries   log records of libraries, cleaned of secrets, as lines of the same log
"""
