"""Figures of a single run, as the measures of an experiment define them: a file per thing that is measured."""
