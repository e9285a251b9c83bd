"""Audit: a random sample of judged turns for people to judge, and what their answers say of the release."""
