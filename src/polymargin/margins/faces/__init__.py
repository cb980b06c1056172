"""Exact distances in other norms and inside boxes: one polynomial system for every face."""
