"""The commands `backwater convert ...`."""
