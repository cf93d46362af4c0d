"""Annealed importance sampling and annealed sequential Monte Carlo, on the engine of parallel tempering."""
