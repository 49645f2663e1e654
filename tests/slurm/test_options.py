"""What the command line says goes before what thawbench.toml says."""

from pathlib import Path
from typing import Any

import pytest

from thawbench.errors import UserError
from thawbench.slurm.options import SweepOptions, sweep_options

NOTHING: dict[str, Any] = {"cluster": None, "time": None, "setup": [], "partition": None}


def toml(folder: Path, text: str) -> Path:
    path = folder / "thawbench.toml"
    path.write_text(text)
    return path


def test_without_a_file_there_are_defaults(tmp_path: Path) -> None:
    assert sweep_options(NOTHING, tmp_path / "thawbench.toml") == SweepOptions()


def test_the_command_line_goes_before_the_file(tmp_path: Path) -> None:
    file = toml(tmp_path, '[slurm]\ntime = 30\nmem-gb = 8\npartition = "cpu"\nsetup = "module load x"\n[else]\na = 1\n')

    options = sweep_options({**NOTHING, "time": 5, "setup": []}, file)

    assert options == SweepOptions(time=5, mem_gb=8.0, partition="cpu", setup=("module load x",))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[slurm]\npartitoin = 'x'", "unknown key of .*; did you mean partition"),
        ("[slurm]\ntime = '30'", "time must be a number, not '30'"),
        ("[slurm]\nqos = 3", "qos must be a text, not 3"),
        ("[slurm]\nsetup = [3]", "setup must be a list of shell lines"),
        ("[slurm]\ncluster = 'pbs'", "--cluster pbs is none of slurm, local and debug"),
        ("slurm = 3", "slurm must be a table"),
        ("[slurm", "is not a TOML file"),
        ("[slurm]\ntime = 2", "--time 2 is too short; give at least 3 minutes"),
        ("[slurm]\nmem_gb = 0", "--mem-gb 0 must be above 0"),
        ("[slurm]\ncpus = 99999999999", "--cpus 99999999999 is too large; give at most 4096"),
        ("[slurm]\nmem_gb = nan", "--mem-gb nan must be above 0, and finite"),
        ("[slurm]\nmem_gb = inf", "--mem-gb inf must be above 0, and finite"),
        ("[slurm]\narray_parallelism = -1", "--array-parallelism -1 must not be below 0"),
    ],
)
def test_a_mistake_is_told_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        sweep_options(NOTHING, toml(tmp_path, text))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("time", "delay"), [(3, 45), (8, 120), (600, 120)])
def test_the_warning_comes_late_enough_in_a_short_task_and_early_enough_in_a_long_one(time: int, delay: int) -> None:
    assert SweepOptions(time=time).signal_delay_s == delay
