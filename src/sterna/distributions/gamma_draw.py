"""Draws of gamma variables by the method of Marsaglia and Tsang (2000)."""

import math

from sterna.ground.compilation import compiled
from sterna.ground.streams import Stream, exponential, standard_normal


@compiled
def log_gamma_draw(shape: float, stream: Stream) -> float:
    """Draw from the gamma distribution of scale 1, and return the logarithm.

    A shape below 1 is raised by 1 and the draw multiplied by U^(1/shape); its logarithm does not underflow.
    """
    lowered = 0.0
    if shape < 1.0:
        lowered = exponential(stream) / shape
        shape += 1.0
    third = shape - 1.0 / 3.0
    while True:
        z = standard_normal(stream)
        root = 1.0 + z / math.sqrt(9.0 * third)
        if root > 0.0:
            cube = root * root * root
            if -exponential(stream) < 0.5 * z * z + third * (1.0 - cube + math.log(cube)):
                return math.log(third * cube) - lowered
