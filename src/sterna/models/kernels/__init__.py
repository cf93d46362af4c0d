"""Kernels that serve one built-in model each, and the computations that such a model shares with its kernel."""
