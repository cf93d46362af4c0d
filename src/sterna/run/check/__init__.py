"""`sterna.check`: the checks that every run makes, at length, what a run will take, and checks of runs on disk."""
