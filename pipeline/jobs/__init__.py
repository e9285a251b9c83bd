"""The stages of a run, one module each, and the main job."""
