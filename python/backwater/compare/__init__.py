"""Comparison of results: groups of runs, statistics over seeds, and conditions."""
