"""The allowed domains, intents and slots, and what became of the old ones."""
