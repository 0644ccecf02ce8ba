"""What everything else is built on: errors, archives, Markov decision processes, planning."""
