"""Why a turn or an example is what it is, from the tables of a run and the files of its release."""
