"""What the long-running commands say: one chain for their own lines and for those of libraries."""
