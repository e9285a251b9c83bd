"""Views: what each consumer reads, made from Example rows."""
