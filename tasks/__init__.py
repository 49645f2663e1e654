"""What is measured: one file per family of tasks, the train sets, and how their data is loaded."""
