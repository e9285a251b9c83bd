"""What isn't user behaviour, or must not be learned from: incidents, filters, opt-outs, forgotten users."""
