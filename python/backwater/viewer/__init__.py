"""The viewer: a run in a browser."""
