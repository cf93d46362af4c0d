"""The compiled heart: streams, densities, communication and the round."""
