"""How much headroom a switch needs, what schemes make of its buffer, and what a configuration of SONiC sets aside."""
