"""The command line: thin wrappers around the library."""
