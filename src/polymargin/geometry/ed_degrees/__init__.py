"""ED degrees: by formula, by counting and by Gröbner bases."""
