"""FRESH: rationales are cut as asked, the new classifier sees nothing else, and other data can be tested on."""

import json

import pytest

from veridical import load_data
from veridical.core.errors import UsageError
from veridical.run.extracting import Extraction
from veridical.run.fresh import fresh
from veridical.run.seeds import spread
from veridical.training import Schedule

DATA = "planted(train=400, length=8)"
QUICK = Schedule(epochs=4, checks=1)


@pytest.fixture(scope="module")
def done(trained, tmp_path_factory):
    out = tmp_path_factory.mktemp("fresh") / "run"
    extraction = Extraction("occlusion", 0.2)
    return out, fresh(trained, out, extraction, seeds=(0, 1), schedule=QUICK, elsewhere={f"{DATA}:dev[:40]": 0.2})


def test_rationales_are_words_of_the_text_in_its_order(done):
    out, _ = done
    for example, cut in zip(load_data(f"{DATA}:test"), load_data(f"{out}/rationales:test"), strict=True):
        words, kept = str(example.inputs["text"]).split(), str(cut.inputs["text"]).split()
        assert len(kept) == 2
        places = iter(words)
        assert all(word in places for word in kept)
        assert (cut.id, cut.label) == (example.id, example.label)


def test_the_reason_is_among_the_words_that_are_kept(done):
    out, _ = done
    pairs = zip(load_data(f"{DATA}:test"), load_data(f"{out}/rationales:test"), strict=True)
    found = [example.evidence[0].text in str(cut.inputs["text"]).split() for example, cut in pairs]
    assert sum(found) / len(found) > 0.9


def test_the_new_classifiers_are_as_good_as_their_rationales(done):
    _, found = done
    assert len(found.trained) == 2
    test = spread(each.test for each in found.trained)
    assert test["accuracy"].mean > 0.9
    assert test["accuracy"].runs == 2
    assert found.whole["accuracy"] > 0.95
    (elsewhere,) = found.elsewhere.values()
    assert [figures["accuracy"] > 0.85 for figures in elsewhere] == [True, True]


def test_the_same_call_again_does_nothing_new(done, trained):
    out, found = done
    again = fresh(trained, out, Extraction("occlusion", 0.2), seeds=(0, 1), schedule=QUICK)
    assert [each.test for each in again.trained] == [each.test for each in found.trained]
    assert all(each.was_done for each in again.trained)


def test_rationales_of_another_kind_are_refused(done, trained):
    out, _ = done
    with pytest.raises(UsageError, match="holds rationales cut in another way"):
        fresh(trained, out, Extraction("occlusion", 0.5), seeds=(0, 1), schedule=QUICK)


def test_an_explanation_says_how_rationales_were_cut(done):
    out, _ = done
    told = json.loads((out / "rationales" / "extraction.json").read_text())
    assert told["method"]["name"] == "occlusion"
    assert (told["ratio"], told["rationale"], told["order"]) == (0.2, "top-k", "text")
    assert told["model"]["fingerprint"]


def test_the_spread_of_figures():
    found = spread([{"accuracy": 0.8, "only": 1.0}, {"accuracy": 0.9}])
    assert found.keys() == {"accuracy"}
    assert found["accuracy"].mean == pytest.approx(0.85)
    assert found["accuracy"].std == pytest.approx(0.0707107)
    assert spread([{"accuracy": 0.8}])["accuracy"].std == 0
    assert spread([]) == {}
