"""Explanations from elsewhere: taken in once, and never silently passed over or replaced."""

from dataclasses import replace

import pytest

from veridical.core.errors import InputError
from veridical.core.example import Unit
from veridical.core.explanation import Explanation
from veridical.core.files import read_all, spec_key
from veridical.run.audit.importing import take_in


def explanation(id, *scores, **spec):
    words = tuple(Unit("text", (2 * place, 2 * place + 1), "w") for place in range(len(scores)))
    text = " ".join(word.text for word in words)
    return Explanation(id, {"text": text}, "yes", words, scores, {"yes": 1.0}, "mine", spec)


def test_explanations_are_taken_in_once(tmp_path):
    file, made = tmp_path / "all.parquet", [explanation("0", 0.5, 1.0), explanation("1", 0.25)]
    for _ in range(2):
        assert take_in(made, {"0", "1"}, file) == [spec_key({})]
    assert read_all(file) == made


def test_keys_come_in_order_of_appearance(tmp_path):
    made = [explanation("0", 0.5, seed=2), explanation("0", 0.5, seed=1), explanation("1", 0.5, seed=2)]
    assert take_in(made, {"0", "1"}, tmp_path / "all.parquet") == [spec_key({"seed": 2}), spec_key({"seed": 1})]


def test_other_scores_of_the_same_spec_are_refused(tmp_path):
    take_in([explanation("0", 0.5, 1.0)], {"0"}, tmp_path / "all.parquet")
    for other in (explanation("0", 0.6, 1.0), explanation("0", 0.5)):
        with pytest.raises(InputError, match="example 0: an earlier audit in this folder has other scores by mine"):
            take_in([other], {"0"}, tmp_path / "all.parquet")


def test_last_digits_may_differ(tmp_path):
    made = explanation("0", 0.5, 1.0)
    take_in([made], {"0"}, tmp_path / "all.parquet")
    take_in([replace(made, scores=(0.5 + 1e-7, 1.0))], {"0"}, tmp_path / "all.parquet")
    assert read_all(tmp_path / "all.parquet") == [made]


def test_explanations_of_some_other_examples_are_passed_over(tmp_path):
    take_in([explanation("0", 0.5), explanation("9", 0.5)], {"0", "1"}, tmp_path / "all.parquet")
    assert [each.example_id for each in read_all(tmp_path / "all.parquet")] == ["0"]


def test_explanations_of_other_examples_only_are_refused(tmp_path):
    with pytest.raises(InputError, match="by mine are of other examples, such as '9'; here is '0'"):
        take_in([explanation("9", 0.5)], {"0", "1"}, tmp_path / "all.parquet")
    assert take_in([], {"0"}, tmp_path / "all.parquet") == []
