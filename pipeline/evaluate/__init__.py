"""Evaluate: a release, or a model, held against labels of people."""
