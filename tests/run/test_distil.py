"""Distilling from end to end: what a student learns, that it goes on, and what is refused."""

import json
import math
import random
from dataclasses import replace

import pytest
import torch

from veridical import Classifier, audit, explain, load_data
from veridical.core.errors import InputError, ModelError, UnsupportedError, UsageError
from veridical.core.files import ExplanationWriter, read
from veridical.core.folders import read_record
from veridical.core.progress import CancelledError, Watch
from veridical.core.values import Example, content_hash
from veridical.explainers import EXPLAINERS
from veridical.models.black_box import BlackBox
from veridical.report import write_page
from veridical.run.check import check
from veridical.run.distil import DistilRecord, distil
from veridical.run.explain import explain_to_file
from veridical.run.train import train
from veridical.testing import image_classifier
from veridical.training import Distillation, Schedule

DATA = "planted(train=400, length=8)"
QUICK = Distillation(epochs=10, width=32, patience=None, rate=2e-3, dropout=0.0)


def with_plan(**options):
    return Distillation(**{**{name: getattr(QUICK, name) for name in vars(QUICK)}, **options})


@pytest.fixture(scope="module")
def lessons(trained, tmp_path_factory):
    """A folder for what teachers say, which all students of these tests share."""
    return tmp_path_factory.mktemp("lessons")


def on_top(trained, folder, count=40):
    """The share of test texts in which the planted word has the highest score."""
    examples = load_data(f"{DATA}:test")[:count]
    found = explain(Classifier.load(trained), examples, method=str(folder))
    planted = {example.id: example.evidence for example in examples}
    hits = [any(each.top(1)[0][0].overlaps(reason) for reason in planted[each.example_id]) for each in found]
    return sum(hits) / len(hits)


@pytest.mark.parametrize("body", ["side", "words"])
@pytest.mark.parametrize("form", ["scores", "ranking", "labels"])
def test_a_student_finds_the_planted_words(trained, lessons, tmp_path, body, form):
    (done,) = distil(
        trained, "occlusion", tmp_path / "it", data=DATA, plan=with_plan(body=body, form=form), lessons=lessons
    )
    assert done.texts == 400
    assert on_top(trained, done.out) > 0.9


def test_files_say_what_scores_are(trained, lessons, tmp_path):
    told = {}
    for form in ("scores", "ranking", "labels"):
        plan = with_plan(body="side", form=form, epochs=1)
        (done,) = distil(trained, "occlusion", tmp_path / form, data=DATA, plan=plan, lessons=lessons)
        told[form] = explain(Classifier.load(trained), ["one good film"], method=done.out)[0].spec.get("scores")
    assert told == {"scores": None, "ranking": "shares", "labels": "levels"}


def test_a_noisy_teacher_is_enough(trained, lessons, tmp_path):
    """One pair of orders for each text is noise to a reader, and a lesson to a student."""
    (done,) = distil(trained, "permutation-shap(pairs=1)", tmp_path / "it", data=DATA, plan=QUICK, lessons=lessons)
    assert on_top(trained, done.out) > 0.9
    refined = explain(Classifier.load(trained), ["one good film"], method=f"{done.out}(refine=8)")
    assert refined[0].margins is not None
    assert refined[0].source == f"{done.out}(refine=8)" or "refine" in json.dumps(refined[0].spec["method"])


def test_several_teachers_and_seeds(trained, lessons, tmp_path):
    done = distil(
        trained,
        ["occlusion", "permutation-shap(pairs=1)"],
        tmp_path / "it",
        data=DATA,
        plan=with_plan(epochs=3),
        seeds=(0, 1),
        lessons=lessons,
    )
    assert [each.out for each in done] == [str(tmp_path / "it" / f"seed-{seed}") for seed in (0, 1)]
    first, second = (EXPLAINERS.create(each.out) for each in done)
    assert first.fingerprint != second.fingerprint
    again = distil(
        trained,
        ["occlusion", "permutation-shap(pairs=1)"],
        tmp_path / "it",
        data=DATA,
        plan=with_plan(epochs=3),
        seeds=(0, 1),
        lessons=lessons,
    )
    assert all(each.was_done for each in again)
    assert [each.dev for each in again] == [each.dev for each in done]


def test_a_stopped_student_goes_on_to_the_same_weights(trained, lessons, tmp_path):
    class Impatient(Watch):
        def tell(self, stage, done=0, total=None, note=""):
            if stage == "training" and done == 30:
                raise CancelledError("enough")
            super().tell(stage, done, total, note)

    plan = with_plan(epochs=4, body="words", dropout=0.1)
    (whole,) = distil(trained, "occlusion", tmp_path / "whole", data=DATA, plan=plan, lessons=lessons)
    with pytest.raises(CancelledError):
        distil(trained, "occlusion", tmp_path / "cut", data=DATA, plan=plan, lessons=lessons, watch=Impatient())
    (cut,) = distil(trained, "occlusion", tmp_path / "cut", data=DATA, plan=plan, lessons=lessons)
    assert cut.resumed_from > 0
    assert cut.dev == whole.dev
    assert EXPLAINERS.create(cut.out).fingerprint == EXPLAINERS.create(whole.out).fingerprint


def test_the_label_decides_which_words_count(tmp_path):
    """Where a word speaks for one class and against the other, swapping the label turns the order round."""

    def says(texts):
        return [[0.9, 0.1] if "good" in text.split() else [0.1, 0.9] for text in texts]

    classifier = BlackBox(says, labels=("yes", "no"), name="by one word")
    texts = [f"{'good' if at % 2 else 'plain'} film number w{at}" for at in range(80)]
    file = tmp_path / "taught.jsonl"
    explain_to_file(
        classifier,
        [Example(str(at), {"text": text}) for at, text in enumerate(texts)],
        "occlusion",
        file,
        target="every",
    )
    plan = with_plan(form="ranking", body="words", by_sign=True, epochs=30)
    (done,) = distil(classifier, str(file), tmp_path / "it", plan=plan)
    found = [explain(classifier, ["good film"], method=done.out, target=label)[0].scores for label in ("yes", "no")]
    assert found[0][0] > found[0][1]
    assert found[1][0] < found[1][1]


def test_a_file_of_another_model_is_refused(trained, tmp_path):
    other = BlackBox(lambda texts: [[0.5, 0.5]] * len(texts), labels=("positive", "negative"), name="another")
    explain_to_file(other, [Example.of("a film")], "random", tmp_path / "taught.jsonl")
    with pytest.raises(UsageError, match="explains the model another, and this is the model"):
        distil(trained, str(tmp_path / "taught.jsonl"), tmp_path / "it")


def test_a_student_works_with_its_own_model_unless_told_otherwise(trained, lessons, tmp_path):
    (done,) = distil(
        trained, "occlusion", tmp_path / "it", data=DATA, plan=with_plan(epochs=1, body="words"), lessons=lessons
    )
    classifier = Classifier.load(trained)
    with torch.no_grad():
        next(iter(classifier.model.parameters())).add_(0.01)
    with pytest.raises(UnsupportedError, match=r"/it was trained with the model .*/it\W*\(any_model=true\)"):
        explain(classifier, ["a film"], method=done.out)
    found = check(classifier, ["a fine film"], methods=[done.out, f"{done.out}(any_model=true)"])
    assert [each.verdict for each in found.methods] == ["not possible", "ok"]
    assert explain(classifier, ["a film"], method=f"{done.out}(any_model=true)")
    with pytest.raises(UsageError, match="has its option 'width' already"):
        explain(classifier, ["a film"], method=f"{done.out}(width=3)")


def test_what_cannot_be_done_is_said(trained, tmp_path):
    boxed = BlackBox(lambda texts: [[0.5, 0.5]] * len(texts), labels=("a", "b"), name="box")
    with pytest.raises(UsageError, match="no data to explain"):
        distil(trained, "occlusion", tmp_path / "a")
    with pytest.raises(UnsupportedError, match="l2e-side has to be learned for a model"):
        distil(trained, "l2e-side", tmp_path / "b", data=DATA)
    with pytest.raises(UsageError, match="there is no teacher"):
        distil(trained, [], tmp_path / "c", data=DATA)
    explain_to_file(
        boxed, [Example(str(at), {"text": f"w{at} film"}) for at in range(40)], "random", tmp_path / "f.jsonl"
    )
    with pytest.raises(UnsupportedError, match="body side"):
        distil(boxed, str(tmp_path / "f.jsonl"), tmp_path / "d", plan=with_plan(body="side"))


@pytest.mark.parametrize(
    ("plan", "told"),
    [
        ({"body": "side", "depth": 4}, "at most a layer for each of the model's 3 states, not 4.*--body words"),
        ({**Distillation.presets["paper"], "body": "side"}, "at most a layer.*--body words"),
        ({"body": "side", "tags": True, "form": "ranking"}, "--tags is about words.*--body words"),
        ({"body": "side", "positions": True}, "--positions is about words.*--body words"),
        ({"body": "words", "tags": True}, "no label tokens.*--form ranking"),
        ({"body": "side", "predicts": True}, "cannot do without the model.*--body words"),
    ],
)
def test_plans_are_checked_before_teachers_are_paid(trained, tmp_path, plan, told):
    with pytest.raises(UsageError, match=told):
        distil(trained, "occlusion", tmp_path / "it", data=DATA, plan=Distillation(**plan))
    assert not (tmp_path / "it").exists()


def test_images_have_no_words(tmp_path):
    classifier, images = image_classifier()
    explain_to_file(classifier, images, "random", tmp_path / "f.jsonl")
    with pytest.raises(UnsupportedError, match="cannot read images.*--body side"):
        distil(classifier, str(tmp_path / "f.jsonl"), tmp_path / "it", plan=with_plan(body="words"))
    assert not (tmp_path / "it").exists()


def test_a_run_that_made_nothing_does_not_lock_its_folder(trained, lessons, tmp_path):
    def until(stage):
        def listen(told):
            if stage in told.what and told.done >= 30:
                raise CancelledError("enough")

        return Watch(listen)

    asked = {"data": DATA, "plan": with_plan(body="words", epochs=4)}
    with pytest.raises(CancelledError):
        distil(trained, "occlusion", tmp_path / "it", **asked, watch=until("explaining"))
    assert (tmp_path / "it" / "lessons").is_dir()
    other = {**asked, "plan": with_plan(body="side", epochs=4), "lessons": lessons}
    with pytest.raises(CancelledError):  # another plan, in the same folder
        distil(trained, "occlusion", tmp_path / "it", **other, watch=until("training"))
    with pytest.raises(UsageError, match="holds another run"):  # a checkpoint is worth keeping
        distil(trained, "occlusion", tmp_path / "it", **asked)


def test_a_class_that_no_lesson_explained_is_refused(trained, tmp_path):
    classifier, train = Classifier.load(trained), load_data(f"{DATA}:train")[:200]
    made = explain(classifier, train, method="occlusion")
    with ExplanationWriter(tmp_path / "one.jsonl") as writer:
        writer.write([each for each in made if each.target == "positive"])
    for form in ("ranking", "labels", "scores"):
        plan = with_plan(body="words", form=form, epochs=1)
        (done,) = distil(classifier, str(tmp_path / "one.jsonl"), tmp_path / form, plan=plan)
        assert EXPLAINERS.create(done.out).taught == ("positive",)
        assert explain(classifier, ["a film"], method=done.out, target="positive")
        with pytest.raises(InputError, match="never learned what speaks for 'negative'.*--target every"):
            explain(classifier, ["a film"], method=done.out, target="negative")
    both = explain_to_file(classifier, train[:20], str(tmp_path / "ranking"), tmp_path / "both.jsonl")
    assert both.written == sum(each.target == "positive" for each in made[:20])
    assert len(both.failures) == 20 - both.written


def test_a_file_teaches_what_data_names(trained, tmp_path):
    classifier = Classifier.load(trained)
    train, dev = load_data(f"{DATA}:train")[:60], load_data(f"{DATA}:dev")[:20]
    file = tmp_path / "taught.jsonl"
    explain_to_file(classifier, [*train, *(replace(each, id=f"d{each.id}") for each in dev)], "occlusion", file)
    asked = {"plan": with_plan(body="words", epochs=1)}
    (done,) = distil(classifier, str(file), tmp_path / "a", data=f"{DATA}:train[:40]", dev=f"{DATA}:dev[:20]", **asked)
    assert done.texts == 40
    (done,) = distil(classifier, str(file), tmp_path / "b", dev=f"{DATA}:dev[:20]", **asked)
    assert done.texts == 60
    with pytest.raises(InputError, match="80 texts, and none to learn from: none is of planted.*seed=9"):
        distil(classifier, str(file), tmp_path / "c", data="planted(train=400, length=8, seed=9):train", **asked)
    with pytest.raises(InputError, match="80 texts, and none of planted.*by which the best student is chosen"):
        distil(classifier, str(file), tmp_path / "d", dev=f"{DATA}:test[:20]", **asked)


def test_a_small_file_may_have_nothing_for_dev(trained, tmp_path):
    classifier = Classifier.load(trained)
    for at in range(100):
        example = Example(str(at), {"text": f"film {at}"})
        is_dev = int(content_hash(example.inputs), 16) % 10 == 0
        told = "none to learn from is left beside those for dev" if is_dev else "none fell into the tenth kept for dev"
        if at in (0, 1) or is_dev:
            explain_to_file(classifier, [example], "random", tmp_path / f"{at}.jsonl")
            with pytest.raises(InputError, match=told):
                distil(classifier, str(tmp_path / f"{at}.jsonl"), tmp_path / "it")
        if is_dev:
            break


def test_a_teacher_that_fails_is_told(tmp_path):
    def says(texts):
        yes = [math.nan if "bad" in text else 0.5 + 0.01 * len(text) for text in texts]
        return [[each, 1 - each] for each in yes]

    model = BlackBox(says, ["yes", "no"], name="touchy")
    texts = [{"text": f"{'bad' if at < 3 else 'good'} film {at}"} for at in range(40)]
    some, none = tmp_path / "some.jsonl", tmp_path / "none.jsonl"
    some.write_text("\n".join(map(json.dumps, texts)))
    none.write_text("\n".join(map(json.dumps, texts[:3])))
    plan = with_plan(epochs=1)
    with pytest.raises(InputError, match=r"occlusion could not explain (\d+) of \1 train texts; the first is .*gave"):
        distil(model, "occlusion", tmp_path / "a", data=str(none), dev=str(some), plan=plan)
    asked = {"data": f"{some}:all", "dev": f"{some}:all", "plan": plan}
    (done,) = distil(model, "random", tmp_path / "b", **asked)
    assert done.texts == 37
    assert [told.split(";")[0] for told in done.failures] == [
        f"random could not explain 3 of 40 {split} texts" for split in ("train", "dev")
    ]
    again = distil(model, "random", tmp_path / "b", **asked)
    assert again[0].failures == done.failures


def test_a_layer_of_the_model_can_teach(tmp_path):
    data = "planted(train=40, length=6)"
    train(data, tmp_path / "model", model="tiny", objective="scc", schedule=Schedule(epochs=1, batch_size=20))
    (done,) = distil(tmp_path / "model", "scc", tmp_path / "it", data=data, plan=with_plan(epochs=1))
    assert done.texts == 40
    assert read_record(done.out, DistilRecord).teachers[0]["name"] == "scc"


@pytest.mark.parametrize(
    ("teachers", "game"),
    [
        (["lime(samples=30)"], ("prob", "mask")),
        (["occlusion(eraser=delete)"], ("logprob", "delete")),
        (["permutation-shap(pairs=1)", "kernel-shap(samples=30)"], ("logit", "mask")),
        (["permutation-shap(pairs=1)", "lime(samples=30)"], None),
        (["gradient"], None),
    ],
)
def test_what_can_be_refined_is_read_off_the_lessons(trained, tmp_path, teachers, game):
    data = "planted(train=60, length=8)"
    plan = with_plan(body="side", epochs=1)
    (done,) = distil(trained, teachers, tmp_path / "it", data=data, plan=plan)
    student = EXPLAINERS.create(done.out)
    assert game is None or (student.game, student.eraser) == game
    assert (student.game is None) == (game is None)
    if game:
        (found,) = explain(Classifier.load(trained), ["one good film"], method=f"{done.out}(refine=8)")
        (exact,) = explain(
            Classifier.load(trained), ["one good film"], method=f"kernel-shap(output={game[0]}, eraser={game[1]})"
        )
        assert found.scores == pytest.approx(exact.scores, abs=1e-4)  # all coalitions of three words fit
        files = [str(each) for each in (tmp_path / "it" / "lessons").glob("*-train.parquet")]
        (again,) = distil(trained, files, tmp_path / "of-files", plan=plan)
        assert EXPLAINERS.create(again.out).game == game[0]
    else:
        with pytest.raises(UsageError, match="not known how its teacher took words away.*the same output and eraser"):
            explain(Classifier.load(trained), ["one good film"], method=f"{done.out}(refine=8)")


def test_unknown_words_and_empty_texts(trained, lessons, tmp_path):
    (done,) = distil(
        trained, "occlusion", tmp_path / "it", data=DATA, plan=with_plan(epochs=2, body="words"), lessons=lessons
    )
    found = explain(Classifier.load(trained), ["zzyzx qwrtp", "film"], method=done.out)
    assert all(abs(score) < 1e6 for each in found for score in each.scores)
    assert found[0].measures["familiar"] < 0.05


def test_pages_and_audits_tell_of_texts_that_a_student_never_met(trained, lessons, tmp_path):
    (done,) = distil(
        trained, "occlusion", tmp_path / "it", data=DATA, plan=with_plan(epochs=2, body="words"), lessons=lessons
    )
    strange = [Example(str(at), {"text": f"zzyzx qwrtp vbnmk{at}"}) for at in range(6)]
    model, usual = Classifier.load(trained), load_data(f"{DATA}:test")[:6]
    for examples, is_strange in ((strange, True), (list(usual), False)):
        write_page(explain(model, examples, method=done.out), tmp_path / "page.html")
        assert ("unlike those that the explainer learned from" in (tmp_path / "page.html").read_text()) == is_strange
        found = audit(model, examples, done.out, "decision-flip", timed=0, reverse=False)
        assert any("100% of the texts are unlike those that" in told for told in found.warnings) == is_strange


def test_every_class_in_one_pass(trained, tmp_path):
    """A teacher of every class asks no more questions than one of the predicted class."""
    classifier, examples = Classifier.load(trained), load_data(f"{DATA}:test")[:5]
    counts = {}
    for target in ("predicted", "every"):
        done = explain_to_file(classifier, examples, "occlusion", tmp_path / f"{target}.jsonl", target=target)
        counts[target] = done.cost.forwards
        assert done.written == (10 if target == "every" else 5)
    assert counts["every"] == counts["predicted"]
    both = [each for each in read(tmp_path / "every.jsonl") if each.example_id == examples[0].id]
    assert {each.target for each in both} == set(classifier.labels)
    again = explain_to_file(classifier, examples, "occlusion", tmp_path / "every.jsonl", target="every")
    assert (again.written, again.resumed) == (0, 5)


def test_a_student_of_words_is_smaller_than_its_model(trained, lessons, tmp_path):
    """Two thirds as wide and a third as deep, as the published one is beside BERT-base."""
    plan = with_plan(body="words", epochs=1, width=None, heads=2)
    (done,) = distil(trained, "occlusion", tmp_path / "it", data=DATA, plan=plan, lessons=lessons)
    classifier = Classifier.load(trained)
    size = classifier.model.config.hidden_size
    (found,) = explain(classifier, ["one good film"], method=str(done.out))
    assert found.spec["method"]["width"] == size * 2 // 3 // 2 * 2
    assert found.spec["method"]["depth"] == 1


@pytest.mark.parametrize("form", ["scores", "labels"])
def test_a_student_that_predicts_is_a_model_and_explains_itself(trained, lessons, tmp_path, form):
    plan = with_plan(form=form, predicts=True)
    (done,) = distil(trained, "occlusion", tmp_path / "it", data=DATA, plan=plan, lessons=lessons)
    assert done.dev["agreement"] > 0.9
    examples = load_data(f"{DATA}:test")[:40]
    theirs, ours = (
        [each.target for each in explain(model, examples, method=done.out)] for model in (trained, done.out)
    )
    assert sum(a == b for a, b in zip(theirs, ours, strict=True)) >= 36
    assert on_top(done.out, done.out) > 0.9
    again = explain(done.out, examples[:3], method="occlusion")  # as a model it can be asked like any other
    assert [each.target for each in again] == ours[:3]


def test_only_a_student_that_learned_to_predict_is_a_model(trained, lessons, tmp_path):
    (done,) = distil(trained, "occlusion", tmp_path / "it", data=DATA, plan=with_plan(body="words"), lessons=lessons)
    with pytest.raises(ModelError, match="no model"):
        Classifier.load(done.out)
    with pytest.raises(UsageError, match="cannot do without"):
        distil(trained, "occlusion", tmp_path / "no", data=DATA, plan=with_plan(body="side", predicts=True))


def test_numbers_and_several_labels_are_learned(tmp_path):
    """A function that gives a number, and one whose labels stand for themselves."""

    def stars(texts):
        return [200.0 + 50.0 * text.count("good") - 50.0 * text.count("bad") for text in texts]

    def topics(texts):
        return [[0.9 if word in text else 0.1 for word in ("good", "bad")] for text in texts]

    words = ["good", "bad", "film", "plot", "actor", "music"]
    chance = random.Random(0)
    texts = [{"text": " ".join(chance.choices(words, k=6))} for _ in range(300)]
    train, dev = tmp_path / "train.jsonl", tmp_path / "dev.jsonl"
    train.write_text("\n".join(map(json.dumps, texts[:250])))
    dev.write_text("\n".join(map(json.dumps, texts[250:])))
    models = {
        "number": BlackBox(stars, (), name="stars"),
        "labels": BlackBox(topics, ["positive", "negative"], name="topics", multi_label=True),
    }
    for name, model in models.items():
        plan = with_plan(predicts=True, epochs=40)
        (done,) = distil(model, "occlusion", tmp_path / name, data=str(train), dev=str(dev), plan=plan)
        student = Classifier.load(done.out)
        (found,) = explain(student, ["a good film"], method=done.out, target=None if name == "number" else "positive")
        assert found.top(1)[0][0].text == "good"
        assert student.task == model.task
        if name == "number":
            assert done.dev["unexplained"] < 0.1
            (value,) = student.forward(student.encode([Example.of("good good film plot actor music", "0")])).logits
            assert 260 < float(value) < 340
        else:
            assert done.dev["agreement"] > 0.95
