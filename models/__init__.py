"""What we conclude: defects, corrections, calibration, weak supervision. No Beam; files only in `store`."""
