"""What the commands for any Gymnasium environment do: `train`, `compare`, `diagnose`, `explain`."""
