"""Figures, explorers and films that read in light and dark, by keyboard, on a phone, with a kernel and without.

Refused, with a ``ValueError``, is what would be wrong in silence: a figure without words, a page too large for a phone,
an exercise whose check and answers disagree. Arrays of a wrong shape fail where they are drawn.
"""
