"""The worlds of the exam; see `wanderlust.worlds.exam.suite`."""
