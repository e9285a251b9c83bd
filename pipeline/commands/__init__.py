"""A module for each command of `afterword`: `run(arguments, beam_args)` gives the exit code."""
