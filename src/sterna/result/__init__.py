"""The result of a run: samples, evidence, diagnostics, warnings, a report, and a form for ArviZ."""
