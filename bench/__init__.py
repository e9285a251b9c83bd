"""The figures: quality on human truth, memory, speed; one command each."""
