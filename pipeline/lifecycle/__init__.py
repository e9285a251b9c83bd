"""What happens to releases after they were made: forget a user, go back, pin, clear away, compare."""
