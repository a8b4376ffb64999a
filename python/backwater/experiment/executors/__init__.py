"""Where the runs of a sweep take place: in processes of this machine, or on others."""
