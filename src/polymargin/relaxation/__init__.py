"""Bounds on regions: one expansion, one list of constraints with multipliers, and the search for counterexamples."""
