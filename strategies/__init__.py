"""How an encoder is adapted: one file per strategy, and the machinery that they share."""
