"""A release in the forms of classical NLU trainers and of an RL environment."""
