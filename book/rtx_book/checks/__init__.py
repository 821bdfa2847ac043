"""Checks of the exercises, one file a chapter; their messages name the likely slip."""
