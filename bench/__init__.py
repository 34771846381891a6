"""Committed workloads, and the peers that we are compared with, side by side in one run."""
