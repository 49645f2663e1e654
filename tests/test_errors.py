"""Errors: which kind is whose, and what a wrong name is answered."""

import pytest

from thawbench.errors import (
    DataUnavailableError,
    DegenerateError,
    NotApplicableError,
    ThawbenchError,
    UserError,
    unknown,
)


def test_a_user_can_mend_data_and_names_but_not_a_mismatch_or_a_degenerate_vector() -> None:
    assert issubclass(DataUnavailableError, UserError)
    assert not issubclass(NotApplicableError, UserError)
    assert not issubclass(DegenerateError, UserError)


@pytest.mark.parametrize("kind", [UserError, DataUnavailableError, NotApplicableError, DegenerateError])
def test_one_except_clause_catches_all_that_is_raised_on_purpose(kind: type[Exception]) -> None:
    with pytest.raises(ThawbenchError, match="what"):
        raise kind("what")


def test_a_near_miss_is_answered_with_the_near_name() -> None:
    error = unknown("strategy", "frozen_emb", ["frozen", "frozen_ebm", "tfidf"])
    assert str(error).startswith("unknown strategy 'frozen_emb'; did you mean frozen_ebm")
    assert "tfidf" not in str(error)


def test_case_does_not_hide_a_near_name_and_the_name_is_given_as_it_is_spelled() -> None:
    assert str(unknown("task", "scifact", ["SciFact", "x"])) == "unknown task 'scifact'; did you mean SciFact?"


def test_at_most_three_near_names_are_given_nearest_first() -> None:
    text = str(unknown("task", "STS1", ["STS12", "STS13", "STS14", "STS15"]))
    assert text.count(" or ") == 2


def test_a_far_miss_lists_the_known_names_sorted_and_once() -> None:
    assert str(unknown("profile", "zzzz", ["mini", "full", "mini"])) == "unknown profile 'zzzz'; known: full, mini"


def test_a_long_list_is_cut_after_twenty() -> None:
    names = [f"name{i:02}" for i in range(21)]
    assert str(unknown("task", "zzzzzzzzz", names)).endswith("name19, …")
    assert str(unknown("task", "zzzzzzzzz", names[:20])).endswith("name19")


def test_without_known_names_it_says_so() -> None:
    assert str(unknown("strategy", "x", [])) == "unknown strategy 'x'; known: none"


@pytest.mark.parametrize("name", ["", "a\nb", "'; rm"])
def test_the_answer_stays_one_line_whatever_was_asked(name: str) -> None:
    assert "\n" not in str(unknown("strategy", name, ["frozen"]))
    assert repr(name) in str(unknown("strategy", name, ["frozen"]))
