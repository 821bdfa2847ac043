"""Instruments that look inside a model without changing it."""
