"""The baselines of SCC as published: presets, finished models that stay as they are, encoders to begin with."""

import json
from dataclasses import replace

import pytest
import torch
from transformers import TrainerCallback

from veridical.core.errors import InputError, UnsupportedError, UsageError
from veridical.data import load
from veridical.masking import Case
from veridical.models import Classifier
from veridical.models.new import start
from veridical.objectives import IBA, L2X, OBJECTIVES, SimCSE, VMask
from veridical.objectives.base import Sum, best_by, forward, frozen_by, notes_of, prepare
from veridical.objectives.contrast import two_views
from veridical.objectives.mask_layers import MaskTraining
from veridical.objectives.vmask import making_embeddings
from veridical.run.explain import explain
from veridical.run.inventory import objectives
from veridical.run.train import train
from veridical.testing import (
    check_objective,
    image_classifier,
    multi_label_classifier,
    pair_classifier,
    text_classifier,
)
from veridical.testing.families import FAMILIES, family
from veridical.training import Schedule

DATA = "planted(train=400, length=8)"
QUICK = Schedule(epochs=1, checks=2, batch_size=16)


def weights_of(folder):
    return {name: values.clone() for name, values in Classifier.load(folder).model.state_dict().items()}


def changed(before, after):
    """The names of the weights that are others, to the last digit."""
    assert before.keys() == after.keys()
    return {name for name in before if not torch.equal(before[name], after[name])}


def finished(sample):
    classifier, examples = sample()
    classifier.has_new_head = False  # as if it came from the folder of a trained model
    return classifier, examples


def terms_of(objective, classifier, examples, seen_before=None):
    ready = prepare(objective, classifier, seen_before or examples)
    batch = classifier.encode(examples)
    return ready(Case.of_output(classifier, batch, forward(classifier, batch, ready))), ready


def test_the_presets_of_vmask():
    assert OBJECTIVES.create("vmask(preset=ref_code)") == VMask(freeze=True, special=True, best_masked=True)
    assert OBJECTIVES.create("vmask(preset=e-varm)") == VMask(every_layer=True, contrast=0.1)


@pytest.mark.parametrize("preset", ["ref_code", "e-varm"])
def test_presets_keep_the_contract(preset):
    check_objective(OBJECTIVES.create(f"vmask(preset={preset})"), lambda: finished(text_classifier))


@pytest.mark.parametrize("model", ["tiny", "embedded"])
def test_embeddings_that_nobody_has_trained_are_not_frozen(model, tmp_path):
    with pytest.raises(UsageError, match=r"a model that was trained before, and this one has a new head.*--model"):
        train(DATA, tmp_path, model=model, objective="vmask(preset=ref_code)", schedule=QUICK)


def test_what_a_preset_cannot_set_is_said_where_it_is_listed():
    (told,) = [row for row in objectives() if row["name"] == "vmask"]
    assert "--clip 10 --warmup 0" in told["more"]


EMBEDDINGS = {
    "bert": ("bert.embeddings.",),
    "roberta": ("roberta.embeddings.",),
    "distilbert": ("distilbert.embeddings.",),
    "electra": ("electra.embeddings.", "electra.embeddings_project."),
    "albert": ("albert.embeddings.", "albert.encoder.embedding_hidden_mapping_in."),
}


@pytest.mark.parametrize("kind", [kind for kind in EMBEDDINGS if kind in FAMILIES])
def test_what_makes_embeddings(kind):
    classifier = family(kind)
    names = {name for name, _ in classifier.model.named_parameters() if name.startswith(EMBEDDINGS[kind])}
    assert making_embeddings(classifier, text_classifier()[1]) == names
    assert names


def test_patches_have_embeddings_too():
    classifier, examples = image_classifier()
    found = making_embeddings(classifier, examples)
    assert any("patch_embeddings" in name for name in found)
    assert all(name.startswith("vit.embeddings.") for name in found)


def test_no_decay_moves_a_frozen_weight(trained, tmp_path):
    objective = VMask(freeze=True, every_layer=True, contrast=0.1, ce_full=1.0)
    train(DATA, tmp_path, model=str(trained), objective=objective, schedule=replace(QUICK, weight_decay=0.5))
    moved = changed(weights_of(trained), weights_of(tmp_path))
    assert not [name for name in moved if name.startswith("bert.embeddings.")]
    assert "bert.encoder.layer.0.attention.self.query.weight" in moved
    assert "classifier.weight" in moved


def test_a_trained_classifier_is_trained_further(trained, tmp_path):
    data = load(f"{DATA}:train")
    begun = start(str(trained), data, data.labels)
    assert not begun.has_new_head
    assert not changed(weights_of(trained), begun.model.state_dict())
    base = Classifier.load(trained)
    base.model.config.id2label = dict(enumerate(reversed(base.labels)))
    Classifier.load(base.model, tokenizer=base.tokenizer, max_length=17).save(tmp_path)
    begun = start(str(tmp_path), data, data.labels)
    assert begun.labels == tuple(reversed(data.labels))  # an output stays that of its label
    assert begun.settings()["max_length"] == 17
    assert start(str(tmp_path), data, data.labels, max_length=20).settings()["max_length"] == 20
    other = start(str(tmp_path), data, ("x", "y"))
    assert other.has_new_head
    assert other.labels == ("x", "y")
    assert start("tiny", data, data.labels).has_new_head


def test_a_sum_freezes_and_is_kept_as_its_parts_say():
    classifier, examples = text_classifier()
    classifier.has_new_head = False
    ready = prepare(OBJECTIVES.create("cross-entropy + vmask(preset=ref_code)"), classifier, examples)
    assert isinstance(ready, Sum)
    assert frozen_by(ready) == making_embeddings(classifier, examples)
    assert best_by(ready, classifier) == "masked_accuracy"
    assert best_by(OBJECTIVES.create("cross-entropy + regex"), classifier) is None


@pytest.fixture(scope="module")
def selector(trained, tmp_path_factory):
    """The folder of a finished model for which a selector was trained."""
    folder = tmp_path_factory.mktemp("l2x") / "model"
    schedule = Schedule(epochs=4, checks=2, batch_size=16)
    done = train(DATA, folder, model=str(trained), objective="l2x(mode=posthoc, count=2)", schedule=schedule)
    assert done.test["masked_accuracy"] > 0.8
    return folder


def test_a_finished_model_stays_as_it_is(trained, selector):
    assert not changed(weights_of(trained), weights_of(selector))
    told = json.loads((selector / "run.json").read_text())
    losses = [line["eval_masked_loss"] for line in told["history"] if "eval_masked_loss" in line]
    assert told["dev"]["masked_loss"] == min(losses)
    assert losses[-1] < losses[0]


def test_a_selector_explains_a_finished_model(selector):
    classifier, examples = Classifier.load(selector), load(f"{DATA}:test").examples[:100]
    assert set(classifier.learned) == {"l2x"}
    found = explain(classifier, examples, "l2x")
    hits = [
        max(zip(made.scores, made.units, strict=True))[1].span in [each.span for each in example.evidence]
        for made, example in zip(found, examples, strict=True)
    ]
    assert sum(hits) / len(hits) > 0.4  # chance is an eighth


def test_post_hoc_training_goes_on_to_the_last_digit(trained, tmp_path):
    class Stop(BaseException):
        pass

    class Kill(TrainerCallback):
        def on_save(self, args, state, control, **_):
            raise Stop

    few = "planted(train=80, length=8)"
    objective, schedule = "l2x(mode=posthoc)", replace(QUICK, checks=3)
    whole = train(few, tmp_path / "whole", model=str(trained), objective=objective, schedule=schedule)
    with pytest.raises(Stop):
        train(few, tmp_path / "torn", model=str(trained), objective=objective, schedule=schedule, callbacks=[Kill()])
    again = train(few, tmp_path / "torn", model=str(trained), objective=objective, schedule=schedule)
    assert again.resumed_from
    assert again.dev == whole.dev
    one, other = (Classifier.load(tmp_path / name).fingerprint for name in ("whole", "torn"))
    assert one == other


@pytest.mark.parametrize("sample", [text_classifier, pair_classifier, image_classifier, multi_label_classifier])
def test_post_hoc_selectors_keep_the_contract(sample):
    check_objective(L2X(mode="posthoc"), lambda: finished(sample))
    classifier, examples = finished(sample)
    figures = prepare(L2X(mode="posthoc", count=100), classifier, examples).evaluate(classifier, examples)
    assert figures["masked_accuracy"] == 1  # all words are drawn, and the copy is still the model


def test_a_selector_is_taught_what_the_model_says(monkeypatch):
    """All words drawn, and the predictor still a copy: what is left of the loss is the model's own entropy."""
    classifier, examples = finished(text_classifier)
    monkeypatch.setattr(MaskTraining, "masked", lambda *_: lambda states: states)
    classifier.model.train()
    terms, _ = terms_of(L2X(mode="posthoc"), classifier, examples)
    with torch.no_grad(), classifier.evaluating():
        said = classifier.forward(classifier.encode(examples)).logits.softmax(1)
    assert terms["masked"].item() == pytest.approx(-(said * said.log()).sum(1).mean().item(), abs=1e-5)
    assert classifier.model.training


def test_a_model_without_training_has_no_selector(tmp_path):
    with pytest.raises(UsageError, match=r"a model that was trained before, and this one has a new head.*--model"):
        train(DATA, tmp_path, model="tiny", objective="l2x(mode=posthoc)", schedule=QUICK)
    with pytest.raises(UsageError, match="Leave ce_full out"):
        L2X(mode="posthoc", ce_full=1.0)


def dropping(folder):
    """A tiny model that drops out, as SimCSE needs it."""
    data = load(f"{DATA}:train")
    made = start("tiny", data, data.labels)
    made.model.config.hidden_dropout_prob = 0.1
    made.save(folder)
    return str(folder)


def test_an_encoder_to_begin_with(tmp_path):
    begun = dropping(tmp_path / "begun")
    encoder = train(DATA, tmp_path / "simcse", model=begun, objective="simcse(plain=0, weight=1.0)", schedule=QUICK)
    # That its head knows nothing is no news.
    assert not [note for note in encoder.notes if "not clearly better" in note]
    told = json.loads((tmp_path / "simcse" / "run.json").read_text())
    losses = [line["eval_views_loss"] for line in told["history"] if "eval_views_loss" in line]
    assert encoder.dev["views_loss"] == min(losses)
    assert "views" in told["history"][0]
    before, after = weights_of(begun), weights_of(tmp_path / "simcse")
    moved = changed(before, after)
    assert "bert.encoder.layer.0.attention.self.query.weight" in moved
    assert not moved & {"classifier.weight", "classifier.bias", "bert.pooler.dense.weight"}  # no label was read
    assert before.keys() == after.keys()  # the projection is not kept
    schedule = Schedule(epochs=5, checks=1, batch_size=16)
    done = train(DATA, tmp_path / "model", model=str(tmp_path / "simcse"), schedule=schedule)
    assert done.test["accuracy"] > 0.8


@pytest.mark.parametrize("written", ["simcse", "simcse(plain=0)", "simcse + regex"])
def test_a_model_without_dropout_is_told_of_before_training(written, tmp_path):
    classifier, examples = text_classifier()
    told = [
        note for note in notes_of(prepare(OBJECTIVES.create(written), classifier, examples)) if "no dropout" in note
    ]
    assert len(told) == 1
    begun = Classifier.load(dropping(tmp_path))
    assert not notes_of(prepare(OBJECTIVES.create(written), begun, examples))
    assert not notes_of(prepare(OBJECTIVES.create("scc"), classifier, examples))


def test_a_note_of_an_objective_is_among_those_of_the_run(tmp_path):
    done = train("planted(train=16, length=8)", tmp_path, model="tiny", objective="simcse", schedule=QUICK)
    assert [note for note in done.notes if "no dropout" in note]


def test_views_go_through_a_projection():
    classifier, examples = text_classifier()  # without dropout both views are the same
    terms, ready = terms_of(SimCSE(weight=1.0), classifier, examples)
    states = classifier.forward(classifier.encode(examples), hidden=True).hidden[-1][:, 0]
    linear = ready.projection[0]
    assert linear.weight.shape == (64, 64)
    vectors = (states @ linear.weight.T + linear.bias).tanh()
    assert terms["views"].item() == pytest.approx(two_views(vectors, vectors, 0.05).item(), abs=1e-5)
    assert terms["views"].requires_grad


def test_views_of_a_mean():
    classifier, examples = text_classifier(pooling="mean")
    output = classifier.forward(classifier.encode(examples[1:2]), hidden=True)
    assert torch.allclose(output.head_state, output.hidden[-1].mean(1), atol=1e-6)


def test_views_differ_by_dropout_and_the_figure_is_always_the_same(tmp_path):
    folder = dropping(tmp_path)
    data = load(f"{DATA}:dev")
    classifier = Classifier.load(folder)
    ready = prepare(SimCSE(plain=0.0), classifier, data.examples)
    state = torch.random.get_rng_state()
    with torch.no_grad():
        first, second = (ready.evaluate(classifier, data.examples[:20])["views_loss"] for _ in range(2))
    assert first == second
    assert torch.equal(torch.random.get_rng_state(), state)
    assert not classifier.model.training
    labelled = prepare(SimCSE(), classifier, data.examples)
    assert labelled.evaluate(classifier, data.examples[:20]) == {}


WITH_MASKS = ["scc", "vmask", "vmask(preset=ref_code)", "vmask(preset=e-varm)", "l2x", "l2x(mode=posthoc)", "iba"]


def finite(terms, ready, classifier):
    sum(terms.values()).backward()
    weights = [*classifier.model.parameters(), *ready.layer.network.parameters()]
    return all(torch.isfinite(term) for term in terms.values()) and all(
        torch.isfinite(weight.grad).all() for weight in weights if weight.grad is not None
    )


@pytest.mark.parametrize("written", WITH_MASKS)
def test_bad_batches(written):
    classifier, examples = finished(text_classifier)
    objective = OBJECTIVES.create(written)
    one_class = [replace(each, label="negative") for each in examples]
    empty = replace(examples[0], inputs={"text": ""})
    for batch in (examples[:1], one_class, [empty, examples[1]], [empty]):
        assert finite(*terms_of(objective, classifier, batch, examples), classifier), batch


def test_texts_without_words_do_not_tell_how_embeddings_are():
    classifier, examples = text_classifier()
    with pytest.raises(InputError, match="1 texts have no words at all"):
        prepare(IBA(), classifier, [replace(examples[0], inputs={"text": ""})])


@pytest.mark.parametrize("written", WITH_MASKS)
@pytest.mark.parametrize("share", [0.0, 1.0])
def test_texts_that_are_masked_as_a_whole_or_not_at_all(written, share, monkeypatch):
    classifier, examples = finished(text_classifier)
    whole = MaskTraining.masked
    monkeypatch.setattr(MaskTraining, "masked", lambda self, mask, words: whole(self, mask * 0 + share, words))
    assert finite(*terms_of(OBJECTIVES.create(written), classifier, examples), classifier)


@pytest.mark.parametrize("mode", ["joint", "posthoc"])
def test_more_words_are_drawn_than_there_are(mode):
    classifier, examples = finished(text_classifier)
    terms, ready = terms_of(L2X(count=100, mode=mode), classifier, examples)
    assert finite(terms, ready, classifier)
    rows = classifier.encode(examples).rows
    hidden = classifier.run(rows, hidden=True).hidden
    assert torch.equal(ready.tested(rows, hidden)(hidden[0]), hidden[0])  # each text is read as it is


@pytest.mark.parametrize("written", ["scc", "vmask", "l2x", "iba", "simcse"])
def test_an_encoder_that_shows_no_hidden_states(written, tmp_path, monkeypatch):
    data = load(f"{DATA}:train")
    classifier = start("tiny", data, data.labels)
    classifier.provides = classifier.provides - {"hidden"}
    monkeypatch.setattr("veridical.run.train.start", lambda *_, **__: classifier)
    with pytest.raises(UnsupportedError, match=f"{written} needs hidden, which bert models do not give"):
        train(DATA, tmp_path, model="tiny", objective=written, schedule=QUICK)
