"""Commands `backwater headroom ...`."""
