"""What is lost between a score at home and a score elsewhere."""

from thawbench.contracts import Metric

_LEAST = 1e-9
"""Scores of finite test sets lie further apart, unless it is only by rounding."""


def loss_metrics(span: float) -> tuple[Metric, Metric]:
    """The metrics that `losses` fills; two scores are at most `span` apart."""
    return (
        Metric("drop", "down", lower=-span, upper=span),
        Metric("relative_drop", "down", lower=None, upper=None),
    )


def losses(home: float, away: float, chance_home: float, chance_away: float) -> dict[str, float]:
    """How far a score falls.

    - `drop`: home - away.
    - `relative_drop`: 1 - (away - chance_away) / (home - chance_home), the part of what was learnt that does not carry
      over, where what was learnt is the score less that of the best constant answer to the same test rows. 0: nothing
      is lost; 1: no better than a constant answer; below 0: better than at home. If both chances are one number, it is
      drop / (home - chance). Two test sets seldom have that: a constant answer is right on .34 of SNLI and on .64 of
      Climate-FEVER, and would seem to gain there by `drop`. It is not there if the score at home is at or under chance,
      as then nothing was learnt that could be lost; close to chance it is large, and says little.
    """
    found = {"drop": home - away}
    if home - chance_home > _LEAST:
        found["relative_drop"] = 1 - (away - chance_away) / (home - chance_home)
    return found
