"""The commands as a shell sees them: names, arguments, options. Nothing heavy is imported before a command runs."""
