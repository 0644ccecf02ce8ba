"""Where runs are executed: threads or processes of this machine, or the workers of a Ray cluster."""
