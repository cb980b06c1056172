"""The parameter discriminant: where the ED degree drops."""
