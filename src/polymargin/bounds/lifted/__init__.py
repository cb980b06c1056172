"""Bounds for deep networks: the rests of deeper pre-activations stay variables."""
