"""Tables for people: headers and cells as text, the same in the terminal, the report and a notebook."""
