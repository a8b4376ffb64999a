"""Viewer of runs in a browser."""
