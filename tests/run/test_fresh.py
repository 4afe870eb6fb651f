"""FRESH: rationales are cut as asked, the new classifier sees nothing else, and other data can be tested on."""

import json

import pytest

from veridical import Classifier, load_data
from veridical.core.errors import CancelledError, InputError, StorageError, UsageError
from veridical.core.extraction import Extraction
from veridical.core.progress import Watch
from veridical.core.storage import OutputLock
from veridical.run.fresh import fresh
from veridical.run.train import spread, train
from veridical.training import Schedule

DATA = "planted(train=400, length=8)"
QUICK = Schedule(epochs=4, checks=1)
SHORT = Schedule(epochs=1, checks=1)


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
    with pytest.raises(UsageError, match="run holds another run, which differs in: extraction"):
        fresh(trained, out, Extraction("occlusion", 0.5), seeds=(0, 1), schedule=QUICK)


def test_rationales_say_how_they_were_cut(done):
    out, _ = done
    told = json.loads((out / "rationales" / "run.json").read_text())
    cut = told["extraction"]
    assert cut["method"]["name"] == "occlusion"
    assert (cut["ratio"], cut["rationale"], cut["order"]) == (0.2, "top-k", "text")
    assert told["model"]["fingerprint"]


def test_the_record_says_what_was_asked_and_found(done, trained):
    out, found = done
    told = json.loads((out / "run.json").read_text())
    assert (told["job"], told["done"], told["data"]) == ("fresh", True, DATA)
    assert told["support"] == Classifier.load(trained).fingerprint
    assert told["whole"] == found.whole
    assert told["elsewhere"] == {name: list(figures) for name, figures in found.elsewhere.items()}


def test_a_wrong_ratio_is_refused_before_anything_is_written(trained, tmp_path):
    with pytest.raises(UsageError, match="ratio"):
        fresh(trained, tmp_path / "fresh", schedule=SHORT, elsewhere={f"{DATA}:dev[:4]": 1.5})
    assert not (tmp_path / "fresh").exists()


def test_two_runs_do_not_share_a_folder(trained, tmp_path):
    lock = OutputLock(tmp_path / "fresh")
    with pytest.raises(StorageError, match="fresh is being written by another process"):
        fresh(trained, tmp_path / "fresh", schedule=SHORT)
    lock.release()


def test_a_folder_of_another_job_is_refused(trained, tmp_path):
    with pytest.raises(UsageError, match="model holds another run, which differs in: job"):
        fresh(trained, trained, schedule=SHORT)


def test_a_model_without_a_record_needs_names(trained, tmp_path):
    Classifier.load(trained).save(tmp_path / "model")
    with pytest.raises(InputError, match="which data it was trained with. Name it: --data"):
        fresh(tmp_path / "model", tmp_path / "fresh", schedule=SHORT)
    with pytest.raises(InputError, match="which model it was trained with. Name it: --model"):
        fresh(tmp_path / "model", tmp_path / "fresh", data=DATA, schedule=SHORT)


def test_a_job_that_was_cancelled_goes_on(trained, tmp_path):
    seen = []

    def stop(progress):
        seen.append(progress.what)
        if progress.what == "training":
            watch.cancel()

    watch = Watch(stop)
    how = {"extraction": Extraction("attention", 0.2), "schedule": SHORT}
    with pytest.raises(CancelledError):
        fresh(trained, tmp_path / "fresh", watch=watch, **how)
    assert f"{DATA}:train: explaining by attention" in seen
    before = (tmp_path / "fresh" / "rationales" / "explanations-train.parquet").stat().st_mtime_ns
    assert not json.loads((tmp_path / "fresh" / "run.json").read_text())["done"]
    assert fresh(trained, tmp_path / "fresh", **how).trained[0].test
    assert json.loads((tmp_path / "fresh" / "run.json").read_text())["done"]
    assert (tmp_path / "fresh" / "rationales" / "explanations-train.parquet").stat().st_mtime_ns == before


def test_what_a_model_holds_is_kept_whole(tmp_path):
    data = "planted-pairs(train=60, dev=20, test=20)"
    train(data, tmp_path / "model", model="tiny", schedule=SHORT, settings={"hold": "text"})
    fresh(tmp_path / "model", tmp_path / "fresh", Extraction("attention", 0.3), schedule=SHORT)
    for example, cut in zip(load_data(f"{data}:test"), load_data(f"{tmp_path}/fresh/rationales:test"), strict=True):
        assert cut.inputs["text"] == example.inputs["text"]
        whole, kept = str(example.inputs["text_pair"]).split(), str(cut.inputs["text_pair"]).split()
        assert 0 < len(kept) < len(whole)
        assert set(kept) <= set(whole)
    assert Classifier.load(tmp_path / "fresh" / "model").hold == "text"


def test_whole_numbers_that_were_measured_stay_numbers(tmp_path):
    lines = ["text,label", *[f"word {index} here,{index % 5}" for index in range(20)]]
    (tmp_path / "data").mkdir()
    for split in ("train", "dev"):
        (tmp_path / "data" / f"{split}.csv").write_text("\n".join(lines) + "\n")
    train(f"{tmp_path}/data(task=regression)", tmp_path / "model", model="tiny", schedule=SHORT)
    done = fresh(tmp_path / "model", tmp_path / "fresh", Extraction("attention", 0.5), schedule=SHORT)
    assert done.trained[0].dev.keys() == {"loss", "pearson"}


def test_the_dev_data_of_the_model_is_used_again(trained, tmp_path):
    dev = f"{DATA}:test[:30]"
    train(DATA, tmp_path / "model", model="tiny", dev=dev, schedule=SHORT)
    fresh(tmp_path / "model", tmp_path / "fresh", Extraction("attention", 0.2), schedule=SHORT)
    assert [each.id for each in load_data(f"{tmp_path}/fresh/rationales:dev")] == [each.id for each in load_data(dev)]


def test_figures_of_other_data_are_not_said_to_be_of_this(trained, tmp_path):
    other = "planted(train=60, length=8, seed=5)"
    done = fresh(trained, tmp_path / "fresh", Extraction("attention", 0.2), data=other, schedule=SHORT)
    assert done.whole == {}


def test_other_data_with_other_labels_is_refused_before_training(trained, tmp_path):
    (tmp_path / "stars.csv").write_text("text,label\ngood film,five\nbad film,one\n")
    with pytest.raises(InputError, match="'five' is not a label of this model"):
        fresh(trained, tmp_path / "fresh", schedule=SHORT, elsewhere={f"{tmp_path}/stars.csv:all": 0.2})
    assert not (tmp_path / "fresh").exists()


def test_the_spread_of_figures():
    found = spread([{"accuracy": 0.8, "only": 1.0}, {"accuracy": 0.9}])
    assert found.keys() == {"accuracy"}
    assert found["accuracy"].mean == pytest.approx(0.85)
    assert found["accuracy"].std == pytest.approx(0.0707107)
    assert spread([{"accuracy": 0.8}])["accuracy"].std == 0
    assert spread([]) == {}
