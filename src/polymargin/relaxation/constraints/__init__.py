"""Constraints of the relaxation, one per file: functions that are ≥ 0 or = 0 on a region."""
