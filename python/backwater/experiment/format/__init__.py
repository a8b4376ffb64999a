"""Models of experiment files and of files of choices."""
