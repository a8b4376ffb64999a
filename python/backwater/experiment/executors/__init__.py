"""Executors of a sweep's runs: processes of this machine, Ray, or a batch system."""
