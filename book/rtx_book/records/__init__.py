"""Records of measured runs: how they are read, summed up over seeds, and judged by rules."""
