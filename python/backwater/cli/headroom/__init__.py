"""The commands `backwater headroom ...`."""
