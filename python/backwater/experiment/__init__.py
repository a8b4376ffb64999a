"""Experiments: grids of scenarios with measures, charts and claims."""
