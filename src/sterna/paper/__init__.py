"""The paper's results, repeated: `sterna paper table1`, `sterna paper table2`."""
