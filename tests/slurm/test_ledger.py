"""What the ledger remembers, whatever killed its writer."""

from pathlib import Path

from thawbench.slurm.ledger import Accepted, Ended, Forgiven, Ledger, Line, Sent, Warmed

LINES: tuple[Line, ...] = (
    Sent("thawbench-a", "slurm", 2, 4.0, 60, 1000.5),
    Accepted("thawbench-a", "17"),
    Ended("thawbench-a", 0, "done", "", ""),
    Ended("thawbench-a", 1, "crash", "k1", "log-1"),
    Sent("thawbench-b", "slurm", 1, 8.0, 60, 1001.0),
    Ended("thawbench-b", 0, "memory", "k1", "log-2"),
    Sent("thawbench-c", "local", 3, 4.0, 60, 1002.0),
    Warmed(("sts/STS12", "@nli")),
)


def written(path: Path) -> Ledger:
    ledger = Ledger(path)
    for line in LINES:
        ledger.add(line)
    return ledger


def test_another_process_reads_what_was_written(tmp_path: Path) -> None:
    before = written(tmp_path / "ledger.jsonl")
    after = Ledger(tmp_path / "ledger.jsonl")

    for name in ("sent", "ids", "ended", "blame", "warmed"):
        assert getattr(after, name) == getattr(before, name) != {}
    assert after.ids == {"thawbench-a": "17"}
    assert after.open_tasks() == [("thawbench-c", 0), ("thawbench-c", 1), ("thawbench-c", 2)]
    assert after.began == 1000.5


def test_a_cell_is_blamed_for_what_it_did_and_can_be_forgiven(tmp_path: Path) -> None:
    ledger = written(tmp_path / "ledger.jsonl")

    assert ledger.blame["k1"].verdicts == {"crash": 1, "memory": 1}
    assert (ledger.blame["k1"].tries, ledger.blame["k1"].log) == (2, "log-2")

    ledger.add(Forgiven(("k1", "never blamed")))

    assert ledger.blame == Ledger(tmp_path / "ledger.jsonl").blame == {}


def test_what_was_not_the_cells_doing_does_not_count(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.jsonl")
    ledger.add(Ended("thawbench-a", 0, "node", "k1", "log"))
    ledger.add(Ended("thawbench-a", 1, "cancelled", "k1", "log"))

    assert ledger.blame == {}


def test_a_line_that_was_cut_off_is_as_if_never_begun(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    written(path)
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"kind": "sent", "name": "thawbench-d", "clus')

    ledger = Ledger(path)
    ledger.add(Accepted("thawbench-c", "99"))

    assert Ledger(path).ids == {"thawbench-a": "17", "thawbench-c": "99"}
    assert "thawbench-d" not in Ledger(path).sent
    assert path.read_bytes().startswith(whole)
