"""Sequence models in readable PyTorch: the library behind the book."""

__version__ = "0.1.0"
