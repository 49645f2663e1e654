"""A profile is a file that a stranger can write; its mistakes are told by name."""

from pathlib import Path

import pytest

from thawbench.errors import UserError
from thawbench.suite.profile import known_profiles, load_profile


@pytest.mark.parametrize("name", known_profiles())
def test_every_profile_that_ships_can_be_read(name: str) -> None:
    profile = load_profile(name)

    assert profile.name == name
    assert profile.description
    assert set(profile.floors) <= set(profile.strategies)
    for floors in profile.floors.values():
        assert set(floors) <= set(profile.tasks)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("description = ", "is not TOML"),
        ('description = "x"\nbackbone = "embedded"\ntasks = []\n', "'strategies' must be there as a list of names"),
        ('description = "x"\nbackbone = "e"\ntasks = []\nstrategies = []\nflors = 1\n', "did you mean floors?"),
        ('description = "x"\nbackbone = "e"\ntasks = []\nstrategies = []\n[train]\nst = "nli"\n', "did you mean sts"),
        (
            'description = "x"\nbackbone = "e"\ntasks = []\nstrategies = ["frozen"]\n[floors.frozn]\n"sts/a" = 1\n',
            "'frozn'; did you mean frozen",
        ),
        (
            'description = "x"\nbackbone = "e"\ntasks = ["sts/a"]\nstrategies = ["fr*"]\n[floors.frozen]\n"st/a" = 1\n',
            "'st/a'; did you mean sts/a",
        ),
        (
            'description = "x"\nbackbone = "e"\ntasks = []\nstrategies = []\n[floors]\nfrozen = 1\n',
            "the floors of 'frozen' must be a table",
        ),
    ],
)
def test_a_bad_file_is_told_in_one_line(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)

    with pytest.raises(UserError) as error:
        load_profile(str(path))

    assert told in str(error.value)
    assert "\n" not in str(error.value)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no profile at .*none\.toml"):
        load_profile(str(tmp_path / "none.toml"))
