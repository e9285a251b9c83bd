"""What a turn tells: pure functions, columns in, columns out. No Beam, no I/O."""
