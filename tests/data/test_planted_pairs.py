import pytest

from veridical.core.errors import UsageError
from veridical.data import load
from veridical.data.planted import topic


def topic_of(text: str, topics: int, difficulty: str) -> tuple[int, str]:
    known = {word: at for at in range(topics) for word in topic(2 + at, difficulty)}
    ((number, word),) = [(known[word], word) for word in text.split(" ") if word in known]
    return number, word


@pytest.mark.parametrize(("topics", "difficulty"), [(2, "easy"), (4, "medium"), (15, "hard")])
def test_label_and_evidence_follow_from_the_texts(topics: int, difficulty: str) -> None:
    data = load(f"planted-pairs(topics={topics}, difficulty={difficulty}):dev")
    assert data.labels == ("match", "mismatch")
    for example in data:
        fields = ("text", "text_pair")
        (first, one), (second, two) = (topic_of(str(example.inputs[each]), topics, difficulty) for each in fields)
        assert example.label == ("match" if first == second else "mismatch")
        assert [(unit.field, unit.text) for unit in example.evidence] == [("text", one), ("text_pair", two)]
        for unit in example.evidence:
            assert str(example.inputs[unit.field])[unit.span[0] : unit.span[1]] == unit.text
    assert sum(example.label == "match" for example in data) == 100


def test_one_side_alone_does_not_tell() -> None:
    data = load("planted-pairs(train=2000):train")
    for field in ("text", "text_pair"):
        for number in range(4):
            labels = [e.label for e in data if topic_of(str(e.inputs[field]), 4, "easy")[0] == number]
            assert 0.4 < labels.count("match") / len(labels) < 0.6


def test_splits_are_disjoint_and_always_the_same() -> None:
    parts = [load(f"planted-pairs:{split}") for split in ("train", "dev", "test")]
    pairs = {tuple(example.inputs.values()) for part in parts for example in part}
    assert len(pairs) == sum(map(len, parts)) == 1400
    assert load("planted-pairs:dev") == parts[1]
    assert load("planted-pairs(seed=1):dev") != parts[1]


def test_splits_never_share_a_pair_even_where_there_are_few() -> None:
    options = "length=1, difficulty=medium, train=100, dev=100, test=100"
    parts = [load(f"planted-pairs({options}):{split}") for split in ("train", "dev", "test")]
    assert len({tuple(example.inputs.values()) for part in parts for example in part}) == 300


def test_more_pairs_than_there_are_cannot_be_made() -> None:
    with pytest.raises(UsageError, match="not 200 different texts for dev with these options. Ask for longer texts"):
        load("planted-pairs(length=1, topics=2):dev")


def test_as_many_topics_as_there_are() -> None:
    data = load("planted-pairs(topics=298, dev=50):dev")
    assert len({unit.text for example in data for unit in example.evidence}) > 40
