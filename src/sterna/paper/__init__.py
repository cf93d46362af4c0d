"""The paper's tables and figures, reproduced: `sterna paper list`."""
