"""The exam: every explorer on the same worlds, with a score and a report card."""
