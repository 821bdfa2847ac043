"""Figures, explorers and films that read in light and dark, by keyboard, on a phone, with a kernel and without."""
