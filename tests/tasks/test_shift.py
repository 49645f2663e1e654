"""Shifts: losses worked by hand, which rows may be asked, which sets go together, whole cells of the world."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from thawbench.contracts import Adapted, Budget, ClassTarget, FloatArray, Input, Provides, ScoredRow, Scores, Target
from thawbench.errors import NotApplicableError, UserError
from thawbench.strategies.adapted import AdaptedEncoder
from thawbench.suite.plan import Request, make_plan
from thawbench.suite.records import Record
from thawbench.suite.runner import Runner
from thawbench.tasks import fingerprint, set_catalog
from thawbench.tasks.biased_set import cuts, holds_word
from thawbench.tasks.catalog import known_tasks, resolve_task
from thawbench.tasks.domain_shift import DomainShift
from thawbench.tasks.fewshot import FewShot
from thawbench.tasks.ir import Ir
from thawbench.tasks.labelled_set import text_key
from thawbench.tasks.retrieval_shift import RetrievalShift
from thawbench.tasks.set_catalog import named_set, register_set
from thawbench.tasks.shift_measures import losses
from thawbench.tasks.trainsets import load_trainset
from thawbench.tasks.word_shift import WordShift

CLASSES = ClassTarget(("no", "yes"))


@dataclass
class Oracle:
    """An adaptation with one head, which says `yes` to some inputs and `no` to all others."""

    heads: Mapping[str, Target]
    yes: frozenset[Input]

    def predict(self, inputs: Sequence[Input], head: str) -> FloatArray:
        target = cast("ClassTarget", self.heads[head])
        says = ["yes" if item in self.yes else "no" for item in inputs]
        return np.array([[name == said for name in target.classes] for said in says], dtype=np.float32)


def oracle(yes: Sequence[Input], head: str = "home@6", target: Target = CLASSES) -> list[Adapted]:
    return [cast("Adapted", Oracle({head: target}, frozenset(yes)))]


def write(folder: Path, name: str, train: Sequence[str], test: Sequence[str], more: str = "") -> None:
    """A set of one-column texts, each with its label behind a comma."""
    (folder / f"{name}.csv").write_text("text,label\n" + "\n".join(train) + "\n")
    (folder / f"{name}_test.csv").write_text("text,label\n" + "\n".join(test) + "\n")
    (folder / f"{name}.toml").write_text(f'file = "{name}.csv"\ntest_file = "{name}_test.csv"\n{more}')
    register_set(folder / f"{name}.toml")


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DomainShift:
    """Ten test rows at home, half of them `yes`; of the other set's twelve one is trained on and one is there twice."""
    monkeypatch.setattr(set_catalog, "_own", {})
    train = [f"home train {row},{'yes' if row % 2 else 'no'}" for row in range(12)]
    write(tmp_path, "home", train, [f"home {row},{'yes' if row < 5 else 'no'}" for row in range(10)])
    away = [f"away {row},{'yes' if row < 3 else 'no'}" for row in range(10)]
    write(tmp_path, "away", ["a,yes", "b,no", "c,no"], ["HOME  train 11!,yes", *away, "Away 9 .,no"])
    return cast("DomainShift", resolve_task("shift/home@6~away"))


# ---- two domains ----------------------------------------------------------------------------------------------------


def test_scores_drop_and_relative_drop_are_those_worked_by_hand(pair: DomainShift) -> None:
    # at home 8 of 10 are right (chance .5); elsewhere 2 of 3 yes and 6 of 7 no (chance .7)
    said = [*(f"home {row}" for row in range(4)), "home 9", "away 0", "away 1", "away 5"]
    scores = pair.evaluate(oracle(said), pair.load())

    assert scores.scalars["in_domain"] == 0.8
    assert scores.scalars["shifted"] == 0.8
    assert scores.scalars["drop"] == 0
    assert scores.scalars["relative_drop"] == pytest.approx(1 - 0.1 / 0.3)  # .8 is little where .7 costs nothing
    assert scores.scalars["shifted_macro_f1"] == pytest.approx((2 / 3 + 6 / 7) / 2)
    assert set(scores.scalars) == {metric.name for metric in pair.metrics}
    assert scores.rows[4] == ScoredRow("in_domain:test:4", "yes", "no")
    assert scores.rows[10] == ScoredRow("shifted:test:1", "yes", "yes")
    assert len({row.row for row in scores.rows}) == 20


def test_rows_trained_on_and_repeated_ones_are_left_out_and_counted_in_the_manifest(pair: DomainShift) -> None:
    asked = [row.input for row in pair.load().shifted.rows]
    (entry,) = fingerprint.seen("shift/home~away")

    assert asked == [f"away {row}" for row in range(10)]
    counts = {"rows": 10, "left_out": 0, "trained_on": 1, "repeated": 1}
    assert {key: value for key, value in cast("dict[str, Any]", entry.facts["shifted"]).items() if key in counts} == (
        counts
    )
    assert cast("dict[str, Any]", entry.facts["in_domain"])["rows"] == 10


def test_a_row_is_left_out_though_n_does_not_reach_it_so_that_all_n_are_asked_the_same(pair: DomainShift) -> None:
    sample = load_trainset("home@4", 0)
    trained = {row.input for row in (*sample.labelled, *sample.dev.labelled)}

    assert "home train 11" not in trained
    assert resolve_task("shift/home@4~away").fingerprint() == pair.fingerprint()
    assert resolve_task("shift/home~away").load() == pair.load()


def test_bounds_directions_and_the_chance_of_each_set(pair: DomainShift) -> None:
    metrics = {metric.name: metric for metric in pair.metrics}

    assert [metric.name for metric in pair.metrics if metric.main] == ["shifted"]
    assert (metrics["shifted"].chance, metrics["in_domain"].chance, metrics["drop"].chance) == (0.7, 0.5, None)
    assert (metrics["drop"].lower, metrics["drop"].upper, metrics["drop"].direction) == (-1, 1, "down")
    assert (metrics["relative_drop"].lower, metrics["relative_drop"].upper) == (None, None)
    assert metrics["shifted_mcc"].chance == 0


def test_chance_levels_that_the_manifest_lacks_are_taken_anew(pair: DomainShift) -> None:
    entry = pair.entry()
    side = cast("dict[str, Any]", entry.facts["shifted"])
    fingerprint.remember(replace(entry, facts={**entry.facts, "shifted": {**side, "chance": {"accuracy": 0.7}}}))
    assert resolve_task("shift/home@6~away").metrics == pair.metrics


def test_a_constant_classifier_loses_what_the_constants_differ_by_and_has_learnt_nothing_to_lose(
    pair: DomainShift,
) -> None:
    scores = pair.evaluate(oracle([]), pair.load())

    assert (scores.scalars["in_domain"], scores.scalars["shifted"]) == (0.5, 0.7)
    assert scores.scalars["drop"] == pytest.approx(-0.2)
    assert "relative_drop" not in scores.scalars


def test_the_same_domain_on_both_sides_drops_nothing_to_the_bit(pair: DomainShift) -> None:
    same = cast("DomainShift", resolve_task("shift/home@6~home"))
    scores = same.evaluate(oracle([f"home {row}" for row in (0, 1, 2, 7)]), same.load())

    assert 0.5 < scores.scalars["shifted"] < 1
    assert (scores.scalars["drop"], scores.scalars["relative_drop"]) == (0.0, 0.0)


@pytest.mark.parametrize("suffix", ["~labels-0.2", "~typos-0.1", "~case-1~labels-0.2"])
def test_a_noisy_first_set_is_trained_on_and_the_same_clean_rows_are_asked(pair: DomainShift, suffix: str) -> None:
    noisy = cast("DomainShift", resolve_task(f"shift/home@6{suffix}~away"))
    said = ["home 0", "home 1", "away 0"]
    clean = pair.evaluate(oracle(said), pair.load())

    assert (noisy.name, noisy.train) == (f"shift/home@6{suffix}~away", (f"home@6{suffix}",))
    assert noisy.fingerprint() == pair.fingerprint()
    assert noisy.evaluate(oracle(said, head=f"home@6{suffix}"), noisy.load()) == clean
    with pytest.raises(NotApplicableError, match=f"needs a head fitted on home@6{suffix}; there are home@6"):
        noisy.evaluate(oracle(said), noisy.load())


@pytest.mark.usefixtures("pair")
@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("home@6~typo-0.1~away", "unknown noise 'typo'; did you mean typos"),
        ("home@6~typos-2~away", "typos of home@6~typos-2"),
        ("home@6~away~labels-0.2", "malformed name 'home@6~away~labels-0.2'"),
        ("home@6~labels-0.2", "names one set; name a second to test on, as in shift/home@6~labels-0.2~imdb"),
    ],
)
def test_a_noise_that_is_none_or_stands_elsewhere_is_told_in_one_line(body: str, told: str) -> None:
    with pytest.raises(UserError, match=told) as caught:
        resolve_task(f"shift/{body}")
    assert "\n" not in str(caught.value)


def test_classes_go_by_name_whatever_their_order_in_either_set_and_in_the_head(
    tmp_path: Path, pair: DomainShift
) -> None:
    before = pair.evaluate(oracle(["home 0", "away 0"]), pair.load()).scalars
    (tmp_path / "away.toml").write_text('file = "away.csv"\ntest_file = "away_test.csv"\nlabels = ["yes", "no"]\n')
    register_set(tmp_path / "away.toml")
    turned = cast("DomainShift", resolve_task("shift/home@6~away"))
    again = turned.evaluate(oracle(["home 0", "away 0"], target=ClassTarget(("yes", "no"))), turned.load())

    assert again.scalars == before


@pytest.mark.usefixtures("pair")
def test_how_far_a_class_that_is_a_number_is_off_stays_with_its_own_set(tmp_path: Path) -> None:
    write(tmp_path, "rated", ["x,1", "y,2"], ["z,1", "w,2"], 'metrics = ["accuracy", "spearman", "mae", "mcc"]\n')
    metrics = resolve_task("shift/rated~rated").metrics

    assert [metric.name for metric in metrics] == ["shifted", "in_domain", "drop", "relative_drop", "shifted_mcc"]


@pytest.mark.usefixtures("pair")
def test_texts_of_signs_alone_are_not_one_text(tmp_path: Path) -> None:
    write(tmp_path, "signs", ["x,yes", "y,no"], [":),yes", ":(,no", ": (,no", "a!,yes", "A ?,yes"])
    task = cast("DomainShift", resolve_task("shift/home@6~signs"))

    assert [row.input for row in task.load().shifted.rows] == [":)", ":(", ": (", "a!"]


def test_the_head_must_be_the_one_fitted_on_the_first_set(pair: DomainShift) -> None:
    with pytest.raises(NotApplicableError, match="needs a head fitted on home@6; there are other"):
        pair.evaluate(oracle([], head="other"), pair.load())


def test_two_sets_that_share_more_than_a_tenth_are_no_shift(tmp_path: Path, pair: DomainShift) -> None:
    write(tmp_path, "near", ["x,yes", "y,no"], ["home train 1,yes", "home train 2,no", *(f"z{n},no" for n in range(9))])
    task = resolve_task("shift/home@6~near")

    with pytest.raises(UserError, match="is no shift: 2 of the 11 test rows of near are train rows of home") as caught:
        task.fingerprint()
    assert "\n" not in str(caught.value)
    assert fingerprint.seen("shift/home~near") == ()


def test_two_sets_that_differ_in_signs_alone_leave_no_row_to_ask(tmp_path: Path, pair: DomainShift) -> None:
    write(tmp_path, "signs", ["a b,yes", "c d,no"], ["a b!,yes", "c d?,no"])

    with pytest.raises(UserError, match=r"shift/signs@2~home has no test row of signs to ask: each is a train row"):
        resolve_task("shift/signs@2~home").load()


def test_what_it_is_trained_on_is_what_its_name_says(pair: DomainShift) -> None:
    with pytest.raises(UserError, match="shift/home@6~away names its train set itself; leave out train=away@2"):
        make_plan(Request(strategies=("majority",), tasks=("shift/home@6~away:train=away@2",)))


def test_different_classes_are_refused_with_both_lists_before_or_after_the_rows_are_read(
    tmp_path: Path, pair: DomainShift
) -> None:
    write(tmp_path, "other", ["x,maybe", "y,no"], ["z,no"])
    with pytest.raises(UserError, match="home has the classes no, yes, and other has maybe, no;"):
        resolve_task("shift/home@6~other").load()
    with pytest.raises(UserError, match=r"sst2 has the classes negative, positive, and yelp has 1, 2, .*yelp2"):
        resolve_task("shift/sst2@100~yelp")


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("sst2@100", "names one set; name a second to test on, as in shift/sst2@100~imdb"),
        ("sst2@100~imdb@20", "write @n behind the first set only"),
        ("sst2@100~imbd", "did you mean imdb"),
        ("nli~cranfeld", "did you mean cranfield"),
        ("ssst2~imdb", "did you mean sst2"),
        ("stsb~imdb", "stsb is measured by spearman; take sets of classes"),
        ("climate_fever~mnli", "climate_fever has no train rows"),
    ],
)
def test_what_makes_no_shift_is_told_in_one_line(body: str, told: str) -> None:
    with pytest.raises(UserError, match=told) as caught:
        make_plan(Request(strategies=("majority",), tasks=(f"shift/{body}",)))
    assert "\n" not in str(caught.value)


def test_the_relative_drop_is_the_drop_over_what_was_above_chance_where_chances_are_equal() -> None:
    assert losses(0.9, 0.7, 0.5, 0.5)["relative_drop"] == pytest.approx(0.2 / 0.4)
    assert losses(0.9, 0.5, 0.5, 0.5)["relative_drop"] == 1
    assert losses(0.6, 0.7, 0.5, 0.5)["relative_drop"] == pytest.approx(-1)
    assert losses(0.5, 0.4, 0.5, 0.5) == {"drop": pytest.approx(0.1)}
    assert losses(0.5 + 1e-16, 0.4, 0.5, 0.5) == {"drop": pytest.approx(0.1)}


def test_every_listed_shift_resolves_to_its_own_name() -> None:
    listed = [name for name in known_tasks() if name.startswith("shift/")]

    assert [resolve_task(name).name for name in listed] == listed
    assert {"shift/sst2@100~imdb", "shift/books@100~kitchen", "shift/nli~SciFact", "shift/snli_biased@1000"} < {*listed}
    assert len([name for name in listed if name.endswith("~airline")]) == 4


# ---- words left out -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("item", "held"),
    [
        ("Woman with a dog", True),
        ("a womanly gait", False),
        (("a man", "his WIFE's dog"), True),
        (("midwife", "girlfriend, grandmother and tomboy"), False),
        (("two girls.", "a man"), True),
        ("females", False),
    ],
)
def test_only_whole_words_count_in_whatever_case_and_on_either_side(item: Input, held: bool) -> None:
    assert holds_word(item) is held


@pytest.fixture
def words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of 40 train rows 6 `yes` and 3 `no` hold a word, one of which is a test row; 3 of 6 test rows hold one."""
    monkeypatch.setattr(set_catalog, "_own", {})
    train = [f"a woman sat {row},yes" for row in range(6)] + ["my mother 1,no", "my Mother 2,no", "her wife ran,no"]
    train += [f"a man sat {row},yes" for row in range(10)] + [f"a womanly dog {row},no" for row in range(21)]
    test = ["Her wife ran,no", "the girl sat,yes", "girls run,yes", "a cat,yes", "a rat,no", "a bat,no"]
    write(tmp_path, "mine", train, test)
    for made in cuts(named_set("mine")):
        set_catalog._own[made.name] = made
    return tmp_path


@pytest.mark.usefixtures("words")
def test_both_cuts_lose_as_many_rows_of_each_class_and_one_of_them_all_words() -> None:
    whole, biased, thinned = (named_set(name).load() for name in ("mine", "mine_biased", "mine_thinned"))

    assert [len(pool) for pool in (whole, biased, thinned)] == [39, 31, 31]
    assert (biased.dropped, thinned.dropped) == (9, 9)  # eight, and the test row
    counts = [Counter(row.label for row in pool.labelled) for pool in (biased, thinned)]
    assert counts[0] == counts[1] == {"yes": 10, "no": 21}
    held = [sum(holds_word(row.input) for row in pool.labelled) for pool in (whole, biased, thinned)]
    assert held[:2] == [8, 0]
    assert 0 < held[2] < 8
    assert not any(holds_word(text) for text in biased.texts)
    assert set(thinned.labelled) < set(whole.labelled)


@pytest.mark.usefixtures("words")
def test_with_n_all_three_have_n_rows_balanced_by_class_and_the_same_test_rows() -> None:
    for seed in (0, 1):
        for name in ("mine", "mine_biased", "mine_thinned"):
            data = load_trainset(f"{name}@20", seed)
            taken = [*data.labelled, *data.dev.labelled]
            assert Counter(row.label for row in taken) == {"yes": 10, "no": 10}
    tests = [named_set(name).splits().test for name in ("mine", "mine_biased", "mine_thinned")]
    assert tests[0] == tests[1] == tests[2]


@pytest.mark.usefixtures("words")
def test_accuracy_is_taken_of_all_rows_of_those_with_the_words_and_of_those_without() -> None:
    task = WordShift(FewShot(named_set("mine_biased"), 20))
    said = oracle(["Her wife ran", "the girl sat", "a cat"], "mine_biased@20")
    scores = task.evaluate(said, task.load())

    # with the words no, yes, yes: one of three is right; without them all three
    assert scores.scalars == {
        "accuracy": pytest.approx(4 / 6),
        "with_words": pytest.approx(1 / 3),
        "without_words": 1.0,
        "drop": pytest.approx(2 / 3),
        "relative_drop": pytest.approx(1 - (1 / 3 - 2 / 3) / (1 - 2 / 3)),
    }
    assert set(scores.scalars) == {metric.name for metric in task.metrics}
    assert (task.name, task.train) == ("shift/mine_biased@20", ("mine_biased@20",))
    assert [(metric.name, metric.chance) for metric in task.metrics if metric.main] == [("accuracy", 0.5)]
    assert [metric.chance for metric in task.metrics[1:3]] == [pytest.approx(2 / 3)] * 2
    assert len(scores.rows) == 6


@pytest.mark.usefixtures("words")
def test_noise_in_the_train_rows_leaves_the_parts_of_the_test_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WordShift, "known", lambda: ("mine", "mine_biased", "mine_thinned"))
    clean, noisy = (cast("WordShift", resolve_task(f"shift/mine_biased@20{end}")) for end in ("", "~labels-0.2"))
    said = ["Her wife ran", "a cat"]

    assert (noisy.name, noisy.train) == ("shift/mine_biased@20~labels-0.2", ("mine_biased@20~labels-0.2",))
    assert noisy.evaluate(oracle(said, head=noisy.train[0]), noisy.load()) == clean.evaluate(
        oracle(said, head=clean.train[0]), clean.load()
    )


# ---- whole cells: the embedded world, an encoder of two layers ------------------------------------------------------


def run(folder: Path, results: Path, *strategies: str, task: str) -> dict[str, Record]:
    plan = make_plan(Request(strategies=strategies, tasks=(task,), backbone=str(folder), budget=Budget(steps=2)))
    runner = Runner(results, plan.cells)
    return {cell.strategy: runner.run(cell).record for cell in plan.cells}


def value(record: Record, name: str) -> float | None:
    assert record.status == "ok", record
    return {metric.name: metric.value for metric in record.metrics}[name]


def test_a_head_fitted_in_one_domain_is_measured_in_two(tiny_folder: Path, tmp_path: Path) -> None:
    records = run(tiny_folder, tmp_path, "frozen", "majority", task="shift/world/meals@20~world/films")

    frozen, majority = records["frozen"], records["majority"]
    alone = run(tiny_folder, tmp_path, "frozen", task="fewshot/world/meals@20")["frozen"]
    assert value(frozen, "in_domain") == value(alone, "accuracy")
    drop = cast("float", value(frozen, "in_domain")) - cast("float", value(frozen, "shifted"))
    assert value(frozen, "drop") == drop
    assert (value(majority, "shifted"), value(majority, "drop"), value(majority, "relative_drop")) == (0.5, 0.0, None)
    assert frozen.cell["adaptation"] == alone.cell["adaptation"]  # trained once for both


def test_a_noisy_domain_is_another_adaptation_and_answers_the_same_rows(tiny_folder: Path, tmp_path: Path) -> None:
    tasks = [f"shift/world/meals@20{noise}~world/films" for noise in ("", "~labels-0.4")]
    clean, noisy = (run(tiny_folder, tmp_path, "frozen", task=task)["frozen"] for task in tasks)

    assert noisy.status == "ok"
    assert noisy.task == tasks[1]
    assert noisy.cell["adaptation"] != clean.cell["adaptation"]
    assert noisy.cell["task"]["fingerprint"] == clean.cell["task"]["fingerprint"]
    assert value(noisy, "in_domain") != value(clean, "in_domain")


def test_a_domain_against_itself_drops_nothing_though_an_encoder_is_asked_twice(
    tiny_folder: Path, tmp_path: Path
) -> None:
    record = run(tiny_folder, tmp_path, "frozen", task="shift/world/meals@100~world/meals")["frozen"]

    assert value(record, "drop") == 0.0
    assert value(record, "relative_drop") == 0.0


def test_a_search_is_held_against_the_backbone_which_is_asked_once(
    tiny: AdaptedEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    search = Ir.evaluate

    def counted(self: Ir, trail: Sequence[Adapted], data: Any) -> Any:
        asked.append(trail)
        return search(self, trail, data)

    monkeypatch.setattr(Ir, "evaluate", counted)
    task = cast("RetrievalShift", resolve_task("shift/world/nli~world"))
    data = task.load()
    first = task.evaluate([tiny, tiny], data)
    task.evaluate([tiny, tiny], data)

    assert [list(trail) for trail in asked] == [[tiny]] * 3
    assert (task.name, task.train, task.needs) == ("shift/world/nli~world", ("world/nli",), Provides.VECTORS)
    assert (first.scalars["drop"], first.scalars["relative_drop"]) == (0.0, 0.0)
    assert first.scalars["shifted"] == first.scalars["backbone"] > 0
    assert {row.row.partition(":")[0] for row in first.rows} == {"shifted", "backbone"}
    assert np.mean([row.prediction for row in first.rows]) == pytest.approx(first.scalars["shifted"], abs=1e-4)


def test_what_tuning_takes_from_search_is_the_drop(tiny: AdaptedEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    tuned = replace(tiny)
    found = {id(tiny): 0.4, id(tuned): 0.3}
    monkeypatch.setattr(Ir, "evaluate", lambda _, trail, __: Scores({"ndcg_at_10": found[id(trail[0])]}))
    task = cast("RetrievalShift", resolve_task("shift/world/nli~world"))

    scores = task.evaluate([tiny, tuned], task.load()).scalars
    assert (scores["shifted"], scores["backbone"]) == (0.3, 0.4)
    assert scores["drop"] == pytest.approx(0.1)
    assert scores["relative_drop"] == pytest.approx(0.25)


def test_a_constant_encoder_is_degenerate_in_search(tiny_folder: Path, tmp_path: Path) -> None:
    record = run(tiny_folder, tmp_path, "constant", task="shift/world/nli~world")["constant"]

    assert record.status == "degenerate"
    assert "constant" in record.reason


# ---- real data ------------------------------------------------------------------------------------------------------


@pytest.mark.hub
@pytest.mark.usefixtures("needs_hub")
def test_movie_reviews_are_no_shift_from_sst2_and_whole_reviews_are() -> None:
    with pytest.raises(UserError, match=r"no shift: 761 of the 1066 test rows of rotten_tomatoes"):
        resolve_task("shift/sst2@100~rotten_tomatoes").fingerprint()
    with pytest.raises(UserError, match=r"no shift: 731 of the 872 test rows of sst2"):
        resolve_task("shift/rotten_tomatoes@100~sst2").fingerprint()
    task = cast("DomainShift", resolve_task("shift/sst2@100~imdb"))
    assert (len(task.load().in_domain.rows), len(task.load().shifted.rows)) == (870, 1000)  # two are in train


@pytest.mark.hub
@pytest.mark.usefixtures("needs_hub")
def test_the_biased_snli_holds_none_of_the_words_and_a_third_of_its_test_rows_does() -> None:
    pools = [named_set(name).load() for name in ("snli_biased", "snli_thinned")]
    by_class = [Counter(row.label for row in pool.labelled) for pool in pools]
    resolve_task("shift/snli_biased@100").load()
    (entry,) = fingerprint.seen("shift/snli_biased")

    assert by_class[0] == by_class[1] == {"entailment": 2467, "neutral": 2380, "contradiction": 2273}
    assert not any(holds_word(row.input) for row in pools[0].labelled)
    assert entry.facts["rows"] == {"accuracy": 9824, "with_words": 2866, "without_words": 6958}
    assert not {text_key(row.input) for row in pools[1].labelled} & {
        text_key(row.input) for row in named_set("snli").splits().test.rows
    }
