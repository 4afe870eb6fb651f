"""What failed is remembered beside the file, by spec and by what the example says."""

import json

import pytest

from veridical import Example, Image
from veridical.core.errors import InputError, ModelError
from veridical.core.storage import FailureFile
from veridical.run.explain import content_of

BLANK = Example("7", {"text": " "}, "positive")
ERROR = InputError("there are no words", example="7", field="text", remedy="Fill it.")


@pytest.fixture
def place(tmp_path):
    return tmp_path / "why.parquet"


def remembered(place, example=BLANK, spec="first", error=ERROR):
    file = FailureFile(place, spec)
    file.remember({example.id: content_of(example)}, {example.id: error})
    return file


def test_a_failure_is_known_again_with_its_words(place):
    remembered(place)
    found = FailureFile(place, "first").known(BLANK.id, content_of(BLANK))
    assert isinstance(found, InputError)
    assert str(found) == str(ERROR)
    assert place.with_name("why.parquet.failures.json").exists()


@pytest.mark.parametrize(
    "changed",
    [
        Example("8", {"text": " "}, "positive"),
        Example("7", {"text": "a word"}, "positive"),
        Example("7", {"text": " "}, "negative"),
        Example("7", {"text": " ", "text_pair": " "}, "positive"),
        Example("7", {"image": Image([[0]])}, "positive"),
    ],
)
def test_another_example_is_tried(place, changed):
    remembered(place)
    assert FailureFile(place, "first").known(changed.id, content_of(changed)) is None


def test_each_spec_has_failures_of_its_own(place):
    remembered(place)
    assert FailureFile(place, "second").known(BLANK.id, content_of(BLANK)) is None
    remembered(place, spec="second")
    assert FailureFile(place, "first").known(BLANK.id, content_of(BLANK))
    assert FailureFile(place, "second").known(BLANK.id, content_of(BLANK))


def test_an_error_of_the_model_is_not_remembered(place):
    remembered(place, error=ModelError("no answer", example="7"))
    assert not list(place.parent.iterdir())


def test_what_went_well_is_forgotten(place):
    remembered(place)
    remembered(place, Example("9", {"text": ""}))
    FailureFile(place, "first").remember({"7": content_of(BLANK)}, {})
    assert FailureFile(place, "first").known(BLANK.id, content_of(BLANK)) is None
    assert FailureFile(place, "first").known(Example("9", {"text": ""}).id, content_of(Example("9", {"text": ""})))
    FailureFile(place, "first").remember({"9": content_of(Example("9", {"text": ""}))}, {})
    assert not list(place.parent.iterdir())


def test_nothing_new_writes_nothing(place):
    remembered(place)
    before = place.with_name("why.parquet.failures.json").stat().st_mtime_ns
    remembered(place)
    assert place.with_name("why.parquet.failures.json").stat().st_mtime_ns == before


@pytest.mark.parametrize("change", [{"version": 2}, {"format": "other"}, {"failures": [{"spec": "first"}]}])
def test_a_file_of_another_kind_is_passed_over(place, change):
    remembered(place)
    file = place.with_name("why.parquet.failures.json")
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))
    assert FailureFile(place, "first").known(BLANK.id, content_of(BLANK)) is None


def test_half_a_surrogate_pair_is_written_and_found(place):
    odd = Example("cut \ud83d off", {"text": "\udc00"})
    remembered(place, odd)
    assert FailureFile(place, "first").known(odd.id, content_of(odd))
