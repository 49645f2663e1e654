"""What is run and what a run leaves: cells, runner, records, profiles; and the pytest face of them."""
