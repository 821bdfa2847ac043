"""The race of the models in numbers and sentences."""
