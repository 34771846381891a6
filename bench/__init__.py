"""Committed workloads, and the peers that we compare ourselves with, side by side in one run."""
