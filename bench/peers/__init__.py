"""The products that do the same work, and the raw limits of the machine."""
