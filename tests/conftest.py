"""Tools that tests share."""

import sys
from pathlib import Path

# helper modules beside the tests (plain.py, exact.py) are imported by name
sys.path.insert(0, str(Path(__file__).parent / "tools"))
