"""Experiments: grids of scenarios, their measures and charts, and the claims that they are held against."""
