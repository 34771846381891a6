"""Publishing exactly once: transactions, the task's own offsets, topics."""
