"""What a report tells of a run: `recorder` looks on, `recording` is what it has seen."""
