"""Gates: what has to hold before a release is published."""
