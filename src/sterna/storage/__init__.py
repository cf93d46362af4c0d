"""Files that survive anything: atomic writes, arrays in open formats, documents that never run code."""
