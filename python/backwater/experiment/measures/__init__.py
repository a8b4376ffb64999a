"""Measures: numbers computed from one run. Each file defines one measure or a few related ones."""
