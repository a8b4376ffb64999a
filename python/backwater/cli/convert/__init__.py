"""Commands `backwater convert ...`."""
