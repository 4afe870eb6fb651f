"""Data of rationales: cut as asked, loadable as data, resumed, and refused where it does not fit."""

import json

import pytest

from veridical import Example, load_data
from veridical.core.errors import ModelError, UnsupportedError, UsageError
from veridical.core.extraction import Extraction
from veridical.core.progress import Watch
from veridical.data import Dataset
from veridical.run.fresh import write_rationales
from veridical.testing import image_classifier

DATA = "planted(train=400, length=8):test[:12]"


def written(model, out, extraction=None, data=None, **rest):
    examples = data or load_data(DATA)
    return write_rationales(model, {"test": examples}, extraction or Extraction(), out, data=examples.name, **rest)


@pytest.mark.parametrize(
    ("extraction", "words"),
    [
        (Extraction("occlusion", 0.1), 1),
        (Extraction("occlusion", 0.5), 4),
        (Extraction("occlusion", 1.0), 8),
        (Extraction("occlusion", 0.5, "contiguous"), 4),
    ],
)
def test_as_many_words_are_kept_as_asked(classifier, tmp_path, extraction, words):
    assert written(classifier, tmp_path / "cut", extraction) == ()
    for example, cut in zip(load_data(DATA), load_data(f"{tmp_path / 'cut'}:test"), strict=True):
        kept = str(cut.inputs["text"]).split()
        assert len(kept) == words
        assert set(kept) <= set(str(example.inputs["text"]).split())
        if extraction.rationale == "contiguous":
            assert str(cut.inputs["text"]) in str(example.inputs["text"])


def test_a_folder_stands_for_the_model(classifier, trained, tmp_path):
    written(trained, tmp_path / "one")
    written(classifier, tmp_path / "two")
    assert (tmp_path / "one" / "test.jsonl").read_text() == (tmp_path / "two" / "test.jsonl").read_text()


def test_the_same_call_again_asks_the_model_nothing(classifier, tmp_path):
    written(classifier, tmp_path / "cut")
    told = []
    written(classifier, tmp_path / "cut", watch=Watch(told.append))
    assert {progress.what for progress in told} == {f"{DATA}: explaining by attention"}
    assert told[-1].done == 12
    assert not any(progress.note for progress in told)  # no batch was run


def test_texts_without_words_are_left_out(classifier, tmp_path):
    data = Dataset("mine:test", (Example("a", {"text": "a good day"}), Example("b", {"text": " "})))
    (failure,) = written(classifier, tmp_path / "cut", data=data)
    assert failure.example_id == "b"
    rows = [json.loads(line) for line in (tmp_path / "cut" / "test.jsonl").read_text().splitlines()]
    assert [row["id"] for row in rows] == ["a"]


def test_rationales_of_another_kind_in_the_folder_are_refused(classifier, tmp_path):
    written(classifier, tmp_path / "cut")
    with pytest.raises(UsageError, match="cut holds another run, which differs in: extraction"):
        written(classifier, tmp_path / "cut", Extraction(ratio=0.5))
    with pytest.raises(UsageError, match="differs in: data"):
        written(classifier, tmp_path / "cut", data=load_data("planted(length=8):dev[:3]"))


def test_images_have_no_words_to_cut(tmp_path):
    model, examples = image_classifier()
    with pytest.raises(UnsupportedError, match="cut from texts, and these are images"):
        written(model, tmp_path / "cut", data=Dataset("digits:test", tuple(examples)))
    assert not (tmp_path / "cut").exists()


@pytest.mark.parametrize("ratio", [0.0, -0.2, 1.01, float("nan")])
def test_a_share_that_is_none_is_refused(ratio):
    with pytest.raises(UsageError, match="ratio"):
        Extraction(ratio=ratio)


def test_a_model_of_any_number_of_labels_is_refused(moods, tmp_path):
    with pytest.raises(UnsupportedError, match="any number of labels"):
        written(moods, tmp_path / "cut")
    assert not (tmp_path / "cut").exists()


def test_a_service_that_dies_loses_no_rationales(service, tmp_path):
    written(service.classifier(), tmp_path / "whole", Extraction("occlusion"))
    service.calls_left = 20
    with pytest.raises(ModelError, match="of 12 examples are safe in .*explanations-test.parquet. See that the model"):
        written(service.classifier(), tmp_path / "cut", Extraction("occlusion"))
    service.calls_left = 10**9
    assert written(service.classifier(), tmp_path / "cut", Extraction("occlusion")) == ()
    assert (tmp_path / "cut" / "test.jsonl").read_text() == (tmp_path / "whole" / "test.jsonl").read_text()
