"""Real targets keep the target contract."""
