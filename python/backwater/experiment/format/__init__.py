"""What an experiment file says: the models that it is checked against, from which every error gets its line."""
