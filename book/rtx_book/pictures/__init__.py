"""What only one chapter draws, one file a chapter."""
