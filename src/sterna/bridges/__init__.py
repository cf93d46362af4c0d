"""Models of other libraries as targets, and results in other libraries' forms; each is imported when it is used."""
