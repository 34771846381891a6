"""Where tasks live: processes of their own, started, watched and ended by a worker."""
