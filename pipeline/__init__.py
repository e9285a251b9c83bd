"""How it runs: readers, transforms, writers, jobs, gates and the command line, on Apache Beam."""
