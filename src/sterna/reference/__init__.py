"""The reference: distributions, spaces of variables, and maps between them and the stored state."""
