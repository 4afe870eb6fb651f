"""The bilevel loop: its optimiser, what each step moves, finding the good head, and going on to the last digit."""

import shutil
from dataclasses import replace

import pytest
import torch

from veridical import load_data
from veridical.core.errors import CancelledError, InputError, ModelError
from veridical.core.progress import Watch
from veridical.explainers import AttentionMixture
from veridical.simulation import ScaffoldPlan
from veridical.simulation.hypergradient import OuterAdam, hypergradient, stepped
from veridical.simulation.lessons import Lesson, divergence
from veridical.simulation.mixtures import Mixture
from veridical.simulation.scaffold import Scaffold
from veridical.simulation.students import new_student

PLAN = ScaffoldPlan(rate=0.05, batch_size=8, epochs=3, patience=3, outer_rate=1e-2)


@pytest.mark.parametrize(("gradient", "step"), [(1e-5, 0.10), (1e-4, 0.71), (1e-3, 0.995)])
def test_tiny_gradients_take_tiny_steps(gradient, step):
    weight = torch.zeros(1, dtype=torch.double)
    optimiser = OuterAdam([weight], rate=1.0, root=1e-8, clip=5.0)
    optimiser.step([torch.tensor([gradient], dtype=torch.double)])
    assert -float(weight) == pytest.approx(step, abs=5e-3)


def test_with_nothing_in_its_root_it_is_the_adam_of_torch():
    mine, theirs = torch.ones(3, dtype=torch.double), torch.nn.Parameter(torch.ones(3, dtype=torch.double))
    ours, library = OuterAdam([mine], 0.1, 0.0, 1e9), torch.optim.Adam([theirs], 0.1, eps=0.0)
    for turn in range(4):
        gradient = torch.tensor([1.0, -2.0, 0.5 * turn + 0.1], dtype=torch.double)
        ours.step([gradient])
        theirs.grad = gradient.clone()
        library.step()
    torch.testing.assert_close(mine, theirs.detach())


def test_the_head_that_sees_the_planted_word_is_found():
    """One of four heads has 4 more at the planted word, the others are noise; the student pools by attention."""
    generator = torch.Generator().manual_seed(0)
    words, length, size = 40, 12, 16

    def drawn(count):
        texts = torch.randint(2, words, (count, length), generator=generator)
        label = torch.randint(2, (count,), generator=generator)
        place = torch.randint(length, (count,), generator=generator)
        texts[torch.arange(count), place] = label
        heads = torch.randn(count, 4, length, generator=generator)
        heads[torch.arange(count), 2, place] += 4
        return texts, label, heads

    weights = [
        (0.3 * torch.randn(*shape, generator=generator)).requires_grad_()
        for shape in ((words, size), (size,), (size, 2))
    ]

    def student(parts, texts):
        vectors = parts[0][texts]  # [B, T, d]
        attention = (vectors @ parts[1]).softmax(1)
        return (attention[..., None] * vectors).sum(1) @ parts[2], attention

    mixture = Mixture(4, "sparsemax")
    outer = OuterAdam(list(mixture.parameters()), 5e-3, 1e-8, 5.0)

    def update(parts, gradients):
        return stepped(parts, gradients, 0.1, 0.0, 5.0)

    begun = float(mixture.weights()[2].detach())
    for _ in range(100):
        texts, label, heads = drawn(32)

        def loss(texts=texts, label=label, heads=heads):
            logits, attention = student(weights, texts)
            why = mixture(heads).softmax(1)
            return torch.nn.functional.cross_entropy(logits, label) + 5 * divergence(why, attention)

        after = update([each.detach() for each in weights], torch.autograd.grad(loss(), weights))
        with torch.no_grad():
            for own, new in zip(weights, after, strict=True):
                own.copy_(new)
        others, answers, _ = drawn(32)
        outer.step(
            hypergradient(
                loss,
                lambda parts, others=others, answers=answers: torch.nn.functional.cross_entropy(
                    student(parts, others)[0], answers
                ),
                weights,
                list(mixture.parameters()),
                update,
            )
        )
    assert begun == 0.25
    assert float(mixture.weights()[2].detach()) > 0.8


@pytest.fixture
def lessons(classifier):
    """Lessons of planted texts with what the model's heads look at, for the student and for the explainer."""
    explainer = AttentionMixture(layers=2, heads=4)

    def of(split, count):
        found = []
        for example in load_data(f"planted(length=8):{split}[:{count}]"):
            rows = classifier.encode([example]).rows
            with torch.no_grad(), classifier.evaluating():
                sources = explainer.sources_of(classifier, rows, torch.ones(1, 2))
            found.append(Lesson(example, torch.tensor(classifier.target_index(example.label)), (sources[0],)))
        return found

    return of("train", 24), of("dev", 16), of("dev", 40)[16:]


def begun(classifier, lessons, plan=PLAN):
    student = new_student(classifier, [each.example for each in lessons[0]], plan)
    return Scaffold(student, AttentionMixture(layers=2, heads=4).mixture, plan)


def test_looking_for_the_hypergradient_changes_neither_student_nor_explainer(classifier, lessons):
    doing = begun(classifier, lessons)
    before = [each.detach().clone() for each in (*doing.student.weights, *doing.parameters)]
    with doing.student.learning():
        batch = doing.student.classifier.encode([each.example for each in lessons[0][:8]])
        said = torch.stack([each.said for each in lessons[0][:8]])
        sources = torch.stack([each.why[0] for each in lessons[0][:8]])
        [found] = doing.hypergradient(batch, said, sources, lessons[1][:8])
    assert found.shape == (8,)
    assert found.abs().max() > 0
    after = [*doing.student.weights, *doing.parameters]
    assert all(torch.equal(was, now) for was, now in zip(before, after, strict=True))


def test_after_the_outer_step_the_student_is_where_the_real_step_left_it(classifier, lessons):
    one, other = begun(classifier, lessons), begun(classifier, lessons)
    with one.student.learning(), other.student.learning():
        one.step(lessons[0][:8], lessons[1][:8], learns=True)
        other.step(lessons[0][:8], lessons[1][:8], learns=False)
    assert all(torch.equal(a, b) for a, b in zip(one.student.weights, other.student.weights, strict=True))
    assert not torch.equal(one.parameters[0], other.parameters[0])


def test_explanations_without_weight_have_exactly_no_hypergradient(classifier, lessons):
    doing = begun(classifier, lessons, replace(PLAN, beta=0.0))
    with doing.student.learning():
        doing.step(lessons[0][:8], lessons[1][:8])
    assert torch.equal(doing.parameters[0].detach(), torch.full((8,), 1 / 8))


def test_killed_in_any_pass_it_goes_on_to_the_last_digit(classifier, lessons, tmp_path):
    at_once = begun(classifier, lessons)
    at_once.run(*lessons, tmp_path / "one", Watch())

    class Killed(Watch):
        def note(self, note, *, is_result=False):
            super().note(note, is_result=is_result)
            raise CancelledError("killed")

    for _ in range(PLAN.epochs):
        with pytest.raises(CancelledError):
            begun(classifier, lessons).run(*lessons, tmp_path / "other", Killed())
    again = begun(classifier, lessons)
    state = again.run(*lessons, tmp_path / "other", Watch())
    assert state == at_once.state
    assert len(state.history) == PLAN.epochs
    one, other = ([*doing.student.weights, *doing.parameters] for doing in (at_once, again))
    assert all(torch.equal(a, b) for a, b in zip(one, other, strict=True))
    shutil.rmtree(tmp_path / "other")


@pytest.mark.parametrize("value", [0.0, float("nan")])
def test_an_explainer_that_looks_at_nothing_is_refused(classifier, lessons, value):
    student = new_student(classifier, [each.example for each in lessons[0]], PLAN)
    doing = Scaffold(student, AttentionMixture(layers=2, heads=4, weighing="none").mixture, PLAN)
    doing.check_weights()
    doing.mixture.phi.data.fill_(value)
    with pytest.raises(ModelError, match="no attention head or gradient has any weight left"):
        doing.check_weights()


def test_too_few_examples_and_a_model_that_says_one_thing_are_refused(classifier, lessons):
    train, outer, dev = lessons
    with pytest.raises(InputError, match="7 examples for the student, fewer than a batch of 8"):
        begun(classifier, lessons).run(train[:7], outer, dev, None, Watch())
    with pytest.raises(InputError, match="3 examples that the explainer learns from"):
        begun(classifier, lessons).run(train, outer[:3], dev, None, Watch())
    same = [replace(each, said=torch.tensor(1)) for each in train]
    with pytest.raises(InputError, match="says the same of all examples"):
        begun(classifier, lessons).run(same, outer, dev, None, Watch())
