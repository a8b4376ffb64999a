"""Tables of text, for the terminal, the report and notebooks."""
