"""Results side by side: grouped by what differs, with statistics over the seeds, and conditions on them."""
