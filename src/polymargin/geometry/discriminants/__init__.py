"""The ED discriminant and the chambers that it bounds."""
