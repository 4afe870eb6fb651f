"""Exported students: a graph gives the scores that we give, for any number of texts and tokens."""

import json
import logging

import numpy as np
import pytest
import torch

from veridical import Classifier, explain
from veridical.core.errors import UnsupportedError
from veridical.explainers import EXPLAINERS
from veridical.explainers.students import SideStudent, WordNetwork, WordStudent, hashed
from veridical.run.export import GRAPH, GUIDE, export

onnxruntime = pytest.importorskip("onnxruntime")

TEXTS = ["a good film", "one really bad plot , and some music"]


def made(trained, folder, **options):
    """A student with weights by chance, saved."""
    model = Classifier.load(trained)
    if options.get("words"):
        student = WordStudent(labels=model.labels, width=16, **options)
        words = sorted({hashed(word) for text in TEXTS for word in text.split()})[: student.words]
        assert isinstance(student.network, WordNetwork)
        student.network.vocabulary[: len(words)] = torch.tensor(words)
    else:
        size = model.model.config.hidden_size
        states = model.model.config.num_hidden_layers + 1
        student = SideStudent(labels=model.labels, size=size, states=states, width=16, scale=2.5, **options)
    EXPLAINERS.save(student, folder)
    return str(folder)


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_a_side_student_and_its_model_are_one_graph(trained, tmp_path, pooling):
    model = Classifier.load(trained, pooling=pooling)
    student = made(trained, tmp_path / "it")
    done = export(model, student, tmp_path / "onnx")
    assert done.difference < 1e-4
    session = onnxruntime.InferenceSession(str(tmp_path / "onnx" / GRAPH))
    given = model.tokenizer(TEXTS, padding=True, return_tensors="np", return_offsets_mapping=True)
    offsets = given.pop("offset_mapping")
    wanted = {each.name for each in session.get_inputs()}
    logits, scores = session.run(None, {name: values for name, values in given.items() if name in wanted})
    for row, found in enumerate(explain(model, TEXTS, method=student)):
        target = model.labels.index(found.target)
        assert logits[row].argmax() == target
        for unit, score in zip(found.units, found.scores, strict=True):
            inside = [unit.span[0] <= a < b <= unit.span[1] for a, b in offsets[row]]
            assert scores[row, inside, target].sum() == pytest.approx(score, rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("form", ["scores", "ranking", "labels"])
@pytest.mark.parametrize("predicts", [False, True])
def test_a_student_of_words_is_a_graph(trained, tmp_path, form, predicts):
    student = made(trained, tmp_path / "it", words=8, form=form, predicts=predicts)
    done = export(trained, student, tmp_path / "onnx")
    assert done.difference < 1e-4
    guide = json.loads((tmp_path / "onnx" / GUIDE).read_text())
    session = onnxruntime.InferenceSession(str(tmp_path / "onnx" / GRAPH))
    for found in explain(trained, TEXTS, method=student):
        numbers = {word: place + 2 for place, word in enumerate(guide["vocabulary"])}
        words = np.array([[numbers.get(hashed(unit.text), 1) for unit in found.units]])
        given = {"words": words, "fields": np.zeros_like(words)}
        target = guide["labels"].index(found.target)
        if "label" in guide["inputs"]:
            given["label"] = np.array([target])
        scores, *decisions = session.run(None, given)
        ours = scores[0] if form != "scores" else scores[0, :, target]
        assert np.allclose(ours, found.scores, rtol=1e-3, atol=1e-4)
        assert len(decisions) == int(predicts)


def test_what_cannot_be_exported(trained, tmp_path):
    with pytest.raises(UnsupportedError, match="no student"):
        export(trained, "occlusion", tmp_path / "onnx")
    with pytest.raises(UnsupportedError, match="no scores for tokens"):
        export(trained, made(trained, tmp_path / "it", form="ranking"), tmp_path / "onnx")


def test_a_graph_knows_where_words_stand_and_nothing_is_logged(trained, tmp_path, caplog):
    student = made(trained, tmp_path / "it", words=8, form="ranking", positions=True)
    assert export(trained, student, tmp_path / "onnx").difference < 1e-4
    assert not [
        each for each in caplog.records if each.levelno >= logging.WARNING
    ]  # the exporter warns that torchvision is missing, which no student needs
