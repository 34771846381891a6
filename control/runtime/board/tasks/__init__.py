"""One half from the reports of its tasks.

half_fold.py    a half, and each of its tasks, as they are at a moment
"""
