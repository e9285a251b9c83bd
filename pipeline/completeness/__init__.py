"""Whether an input is all there: what its source says it holds, held against what is found and read."""
