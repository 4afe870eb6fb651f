from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from veridical.core.errors import UsageError
from veridical.core.values import Example
from veridical.data import load
from veridical.data.planted import topic

RULES = ("keyword", "negation", "conjunction", "position", "shortcut")
Found = tuple[int, list[int]]  # the class and the places of the words that decide it


def cues(words: list[str], first: int, classes: int, difficulty: str) -> list[tuple[int, int]]:
    """Place and class of the words of some topics."""
    known = {word: at for at in range(classes) for word in topic(first + at, difficulty)}
    return [(place, known[word]) for place, word in enumerate(words) if word in known]


def keyword(words: list[str], classes: int, difficulty: str) -> Found:
    ((place, label),) = cues(words, 0, classes, difficulty)
    return label, [place]


def negation(words: list[str], classes: int, difficulty: str) -> Found:
    ((place, label),) = cues(words, 0, classes, difficulty)
    if place and words[place - 1] == "not":
        return (label + 1) % classes, [place - 1, place]
    return label, [place]


def conjunction(words: list[str], classes: int, difficulty: str) -> Found:
    ((first, i),) = cues(words, 2, classes, difficulty)
    ((second, j),) = cues(words, 2 + classes, classes, difficulty)
    return (i + j) % classes, sorted([first, second])


def position(words: list[str], classes: int, difficulty: str) -> Found:
    (place, label), (_, other) = cues(words, 0, classes, difficulty)
    assert other != label
    return label, [place]


ORACLES: dict[str, Callable[[list[str], int, str], Found]] = {
    "keyword": keyword,
    "negation": negation,
    "conjunction": conjunction,
    "position": position,
    "shortcut": keyword,
}


def class_number(label: object, classes: int) -> int:
    names = ["negative", "positive"] if classes == 2 else [f"class-{at}" for at in range(classes)]
    return names.index(str(label))


def places(example: Example) -> list[int]:
    """The evidence as numbers of words, found through the characters before it."""
    text = str(example.inputs["text"])
    for unit in example.evidence:
        assert unit.field == "text"
        assert text[unit.span[0] : unit.span[1]] == unit.text
    return [len(text[: unit.span[0]].split()) for unit in example.evidence]


@pytest.mark.parametrize("split", ["train", "dev", "test"])
@pytest.mark.parametrize(("classes", "difficulty"), [(2, "easy"), (3, "medium"), (14, "hard")])
@pytest.mark.parametrize("rule", RULES)
def test_label_and_evidence_follow_from_the_text(rule: str, classes: int, difficulty: str, split: str) -> None:
    options = f"rule={rule}, classes={classes}, difficulty={difficulty}, length=12, train=60, dev=60, test=60"
    data = load(f"planted({options}):{split}")
    assert len(data) == 60
    for example in data:
        words = str(example.inputs["text"]).split(" ")
        assert len(words) == 12
        label, reasons = ORACLES[rule](words, classes, difficulty)
        assert class_number(example.label, classes) == label
        assert places(example) == reasons


@pytest.mark.parametrize("rule", RULES)
def test_splits_never_share_a_text_and_classes_are_balanced(rule: str) -> None:
    parts = [load(f"planted(rule={rule}, length=8, train=300):{split}") for split in ("train", "dev", "test")]
    texts = [{example.inputs["text"] for example in part} for part in parts]
    assert [len(each) for each in texts] == [300, 200, 200]
    assert len(set().union(*texts)) == 700
    for part in parts:
        counts = Counter(example.label for example in part)
        assert counts["negative"] == counts["positive"]
        assert part.labels == ("negative", "positive")


def test_splits_never_share_a_text_even_where_there_are_few() -> None:
    # 320 texts exist: drawn without care, splits of 100, 50 and 50 would overlap.
    parts = [load(f"planted(length=2, train=100, dev=50, test=50):{split}") for split in ("train", "dev", "test")]
    assert len({example.inputs["text"] for part in parts for example in part}) == 200


def test_splits_do_not_depend_on_the_size_of_others() -> None:
    assert load("planted(train=10):dev").examples == load("planted(train=500):dev").examples
    assert load("planted(train=10):train").examples == load("planted(train=500):train[:10]").examples


def test_the_same_name_gives_the_same_texts_and_another_seed_others() -> None:
    assert load("planted(rule=negation):dev") == load("planted(rule=negation):dev")
    one, two = ({e.inputs["text"] for e in load(f"planted(seed={seed}):dev")} for seed in (1, 2))
    assert len(one & two) < 5


def test_texts_stay_as_they_are() -> None:
    # Written down once: published results name this data.
    example = load("planted(rule=negation, length=10):dev")[0]
    assert example.inputs["text"] == "not few and about could ever gave not amazing around"


def test_negation_has_plain_negated_and_decoy_texts() -> None:
    data = load("planted(rule=negation):train")
    negated = sum(len(example.evidence) == 2 for example in data)
    decoys = sum(str(e.inputs["text"]).split().count("not") > len(e.evidence) - 1 for e in data)
    assert 420 < negated < 580
    assert 550 < decoys < 780
    nots = {label: sum("not" in str(e.inputs["text"]) for e in data if e.label == label) for label in data.labels}
    assert abs(nots["negative"] - nots["positive"]) < 60


def test_no_single_word_of_a_conjunction_tells_the_class() -> None:
    data = load("planted(rule=conjunction, train=2000):train")
    counts = Counter((unit.text, example.label) for example in data for unit in example.evidence)
    for word in {word for word, _ in counts}:
        share = counts[word, "positive"] / (counts[word, "positive"] + counts[word, "negative"])
        assert 0.42 < share < 0.58


@pytest.mark.parametrize(("split", "low", "high"), [("train", 0.93, 0.97), ("dev", 0.4, 0.6), ("test", 0.4, 0.6)])
def test_the_shortcut_agrees_only_in_train(split: str, low: float, high: float) -> None:
    data = load(f"planted(rule=shortcut, dev=400, test=400):{split}")
    spurious = {topic(2, "easy")[0]: "negative", topic(3, "easy")[0]: "positive"}
    agree = 0
    for example in data:
        start, end = example.extra["shortcut"]
        word = str(example.inputs["text"])[start:end]
        assert word not in [unit.text for unit in example.evidence]
        agree += spurious[word] == example.label
    assert low < agree / len(data) < high


def test_the_later_class_word_is_no_evidence() -> None:
    for example in load("planted(rule=position):dev"):
        assert len(example.evidence) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("rule=magic", "keyword, negation, conjunction, position, shortcut"),
        (
            "length=5, rule=negation",
            "length=5 is too short for rule=negation, which plants up to 6 words. Use at least 6",
        ),
        ("length=1, rule=conjunction", "which plants up to 2 words"),
        ("length=1, dev=200", "not 200 different texts for dev"),
        ("sed=1", "Did you mean 'seed'"),
        ("length=long", "a whole number"),
    ],
)
def test_options_that_make_no_sense(options: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load(f"planted({options}):dev")
