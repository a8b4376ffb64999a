"""Headroom of switches: required bytes, buffer left by each scheme, and checks of SONiC configurations."""
