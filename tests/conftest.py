"""Configuration shared by all tests."""

import sys
from pathlib import Path

# helper modules in tests/tools (plain.py, exact.py) are imported by name
sys.path.insert(0, str(Path(__file__).parent / "tools"))
