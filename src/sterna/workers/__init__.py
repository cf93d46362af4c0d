"""Who does the work of a scan: threads, processes, executors, or one call for a batch of points."""
