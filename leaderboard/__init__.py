"""What is published: a pure function from records to tables, figures and verdicts."""
