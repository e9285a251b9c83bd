"""BigQuery: logs pulled out of it into files, and what was concluded pushed back."""
