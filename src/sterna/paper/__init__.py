"""The paper's results, reproduced: `sterna paper table1`, `sterna paper table2`."""
