"""The log lines of the long-running commands.

In: what the runtime and its libraries report.  Out: lines of text for people, or one JSON object a line.

    lines       the two forms of a line, and lines that another process hands over
    line_rate   how many lines a second are sent to Kafka; pure
    trail_writer   a thread that sends lines to a topic, and never keeps anybody waiting
    trail_lines    such lines as a reader asks for them; pure
    sent_lines  the lines of a half, sent to its pipeline's topic
    error_changes   how often each error was logged today, for the board; pure
    libraries   log records of libraries, cleaned of secrets, as lines of the same log
"""
