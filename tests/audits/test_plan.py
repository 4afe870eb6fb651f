"""Reading what is asked for, and keeping what is possible."""

import pytest

from veridical import Classifier, Example
from veridical.core.errors import InputError, UsageError
from veridical.explainers import EXPLAINERS
from veridical.metrics import METRICS
from veridical.metrics.sets import PRESETS
from veridical.audits.plan import methods_of, metrics_of, plan
from veridical.testing import Formula

TEXTS = [Example("0", {"text": "good day"}), Example("1", {"text": "bad day"})]


def written(metrics):
    return [METRICS.written(each) for each in metrics]


@pytest.mark.parametrize("name", PRESETS)
def test_every_set_names_metrics_that_exist(name):
    assert len(metrics_of(name)) == len(PRESETS[name])


def test_what_is_named_twice_is_measured_once():
    assert (
        written(metrics_of("decision-flip, saloss, decision-flip, decision-flip(step=0.2)")).count("decision-flip") == 1
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("erasr", "unknown metric or set of metrics 'erasr'. Did you mean 'eraser'"),
        ("comprehensivness", "Did you mean 'comprehensiveness'"),
        ("scc(ratio=0.2)", "scc is a set of metrics, and takes no options"),
        ("", "expected a name"),
        ("sufficiency,", "expected a name"),
        ("sufficiency(no=1)", "unknown option of sufficiency 'no'"),
    ],
)
def test_mistakes_in_lists_of_metrics(text, words):
    with pytest.raises(UsageError, match=words.replace("(", r"\(")):
        metrics_of(text)


def test_people_are_asked_for_by_name_only():
    found, people = methods_of("human, occlusion")
    assert ([EXPLAINERS.name_of(each) for each in found], people) == (["occlusion"], True)
    assert methods_of("occlusion")[1] is False
    with pytest.raises(UsageError, match="takes no options"):
        methods_of("human(field=text)")
    with pytest.raises(UsageError, match="Did you mean 'human'"):
        methods_of("humn")


def test_chance_is_always_there_once():
    model = Formula.linear({"good": 1.0})
    for asked in ("gradient", "gradient, random"):
        made = plan(model, TEXTS, methods_of(asked)[0], metrics_of("decision-flip")).explainers
        assert [EXPLAINERS.written(each) for each in made] == ["gradient", "random"]
    seeds = plan(model, TEXTS, methods_of("random(seed=7)")[0], metrics_of("decision-flip")).explainers
    assert [EXPLAINERS.written(each) for each in seeds] == ["random(seed=7)", "random"]


def test_two_examples_of_one_id_are_refused():
    with pytest.raises(InputError, match="example 0: another example has the same id"):
        plan(Formula.linear({"good": 1.0}), [*TEXTS, TEXTS[0]], [], metrics_of("decision-flip"))


def test_a_model_that_gives_a_number_is_not_asked_for_classes():
    model = Classifier.load(lambda texts: [float(len(text)) for text in texts])
    made = plan(model, TEXTS, [], metrics_of("comprehensiveness, normalised-aopc"))
    assert made.skipped["comprehensiveness"] == "it needs a model with classes, and this one gives a number"
    assert not any("comprehensiveness" in why for why in made.skipped.values())
    assert written(made.metrics) == ["normalised-aopc"]
