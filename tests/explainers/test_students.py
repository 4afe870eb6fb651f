"""Students by themselves: what their numbers mean, padding, windows, unknown words, and refining without bias."""

import math

import pytest
import torch

from veridical.core.errors import UsageError
from veridical.core.values import Example
from veridical.explainers import EXPLAINERS, SideStudent, WordStudent
from veridical.explainers.students import FAMILIAR, Layer, hashed, sinusoids
from veridical.masking import Case
from veridical.testing import image_classifier, pair_classifier, text_classifier
from veridical.testing.games import by_definition, case_of, of_three, smooth

WORDS = ("a", "gorgeous", "witty", "movie", "the", "it", "is", "dull")


def words_student(labels=("negative", "positive"), **options):
    student = WordStudent(labels=labels, words=len(WORDS), width=16, **options)
    student.network.vocabulary.copy_(torch.tensor([hashed(word) for word in WORDS]))
    return student


def side_student(classifier, **options):
    shown = classifier.forward(classifier.encode(text_classifier()[1][:1]), hidden=True).hidden
    return SideStudent(labels=classifier.labels, size=shown[0].shape[-1], states=len(shown), width=16, **options)


@pytest.mark.parametrize("form", ["scores", "ranking", "labels"])
@pytest.mark.parametrize("body", ["words", "side"])
def test_neighbours_change_nothing(body, form):
    classifier, examples = text_classifier()
    student = words_student(form=form) if body == "words" else side_student(classifier, form=form)
    together = student.scores(Case.bind(classifier, examples))
    for index, example in enumerate(examples):
        alone = student.scores(Case.bind(classifier, [example]))
        units = alone.values.shape[1]
        assert torch.allclose(together.values[index, :units], alone.values[0], atol=1e-5)
        assert (together.values[index, units:] == 0).all()


def test_places_of_words_are_told_where_asked_for():
    classifier, examples = text_classifier()
    for form in ("scores", "ranking"):
        student = words_student(form=form, positions=True)
        together = student.scores(Case.bind(classifier, examples)).values
        alone = student.scores(Case.bind(classifier, examples[1:2])).values  # a short one, whose last label moves
        assert torch.allclose(together[1, : alone.shape[1]], alone[0], atol=1e-5)
    twice = [Example("1", {"text": "dull the dull the"})]
    for positions in (False, True):
        student = words_student(form="ranking", positions=positions)
        found = student.scores(Case.bind(classifier, twice)).values[0]
        assert torch.isclose(found[0], found[2], atol=1e-6) == (not positions)


def test_sinusoids_by_hand():
    found = sinusoids(torch.tensor([0, 3]), 4)
    assert found[0].tolist() == [0, 1, 0, 1]
    assert found[1].tolist() == pytest.approx([math.sin(3), math.cos(3), math.sin(0.03), math.cos(0.03)], abs=1e-6)


def test_the_published_student_has_as_many_weights_as_published():
    student = WordStudent(labels=("a", "b"), words=1, width=512, depth=4, heads=4)
    for layer in student.network.layers:
        assert sum(weights.numel() for weights in layer.parameters()) == 3_152_384


def test_padding_never_leaks_into_the_side_network():
    classifier, examples = text_classifier()
    student = side_student(classifier)
    rows = classifier.encode(examples[:1]).rows
    hidden = classifier.run(rows, hidden=True).hidden
    longer = [torch.nn.functional.pad(state, (0, 0, 0, 10), value=99.0) for state in hidden]
    numbers, _ = student.tokens(hidden, rows.lengths)
    padded, _ = student.tokens(longer, rows.lengths)
    assert torch.allclose(padded[:, : numbers.shape[1]], numbers, atol=1e-5)


def test_levels_and_orders_as_scores():
    live = torch.tensor([[True, True, True, False]])
    five = torch.nn.functional.one_hot(torch.tensor([[0, 3, 4, 4]]), 5).float()
    assert words_student(form="labels").values(five, live).tolist() == [[-2.0, 1.0, 2.0, 0.0]]
    three = torch.nn.functional.one_hot(torch.tensor([[0, 1, 2, 0]]), 3).float()
    assert words_student(form="labels", levels=3).values(three, live).tolist() == [[2.0, 1.0, 0.0, 0.0]]
    shares = words_student(form="ranking").values(torch.tensor([[[1.0], [0.0], [2.0], [5.0]]]), live)
    assert shares.sum().item() == pytest.approx(1.0)
    assert shares[0].argsort(descending=True)[:3].tolist() == [2, 0, 1]


def test_another_class_is_another_column():
    classifier, examples = text_classifier()
    student = side_student(classifier)
    both = [student.scores(Case.bind(classifier, examples, target=label)).values for label in classifier.labels]
    assert not torch.allclose(*both, atol=1e-3)
    every = student.scores(Case.bind(classifier, examples, target="every")).values
    assert torch.allclose(every[0::2], both[0], atol=1e-5)
    assert torch.allclose(every[1::2], both[1], atol=1e-5)


def test_a_side_student_reads_the_pass_that_predicts():
    classifier, examples = text_classifier()
    student = side_student(classifier)
    case = Case.bind(classifier, examples, target="every", reader=student)
    before = case.engine.cost.forwards
    student.scores(case)
    assert case.engine.cost.forwards == before == len(examples)


def test_long_texts_are_read_in_windows():
    student = words_student(window=4)
    assert student.windows(4) == [(0, 4)]
    assert student.windows(7) == [(0, 4), (2, 6), (4, 7)]
    classifier, examples = text_classifier()
    found = student.scores(Case.bind(classifier, examples)).values
    whole = words_student(window=512).scores(Case.bind(classifier, examples)).values
    assert torch.isfinite(found).all()
    assert torch.allclose(found[1, :1], whole[1, :1], atol=1e-5)  # a short one, which is read as ever


def test_pairs_and_images():
    classifier, examples = pair_classifier()
    found = words_student(classifier.labels).scores(Case.bind(classifier, examples)).values
    assert torch.isfinite(found).all()
    classifier, images = image_classifier()
    with pytest.raises(Exception, match="reads words, and these are images"):
        words_student(classifier.labels).scores(Case.bind(classifier, images))


def test_a_label_that_the_student_never_saw():
    classifier, examples = text_classifier()
    with pytest.raises(Exception, match="never saw the label 'negative'"):
        words_student(("good", "positive")).scores(Case.bind(classifier, examples))


def test_texts_unlike_the_training_texts_are_told():
    student, network = words_student(), words_student().network
    torch.manual_seed(0)
    seen = torch.randn(500, student.width + 1)
    network.remember(seen, torch.randn(500, student.width + 1))
    usual = network.familiarity(torch.randn(200, student.width + 1))
    assert 0.4 < usual.mean() < 0.6  # calibrated: like the quantiles of dev texts
    assert (network.familiarity(10 + torch.randn(50, student.width + 1)) < 0.01).all()


def test_new_students_find_everything_familiar():
    classifier, examples = text_classifier()
    assert (words_student().scores(Case.bind(classifier, examples)).measures[FAMILIAR] == 1).all()


@pytest.mark.parametrize("body", ["words", "side"])
def test_a_saved_student_gives_the_same_scores(tmp_path, body):
    classifier, examples = text_classifier()
    student = words_student(seed=3) if body == "words" else side_student(classifier, seed=3)
    EXPLAINERS.save(student, tmp_path / "it")
    again = EXPLAINERS.create(tmp_path / "it")
    case = Case.bind(classifier, examples)
    assert torch.equal(again.scores(case).values, student.scores(case).values)
    assert again.fingerprint == student.fingerprint


def refined(value, words, guess, refine, seed=0, game="logit"):
    """The Shapley values of a game by a student that guesses, corrected by some questions."""
    case = case_of(value, words)
    student = WordStudent(labels=case.classifier.labels, words=1, game=game, refine=refine, seed=seed)
    numbers = torch.zeros(1, words, 1)
    numbers[0, :, 0] = torch.tensor(guess)
    return student.scored(case, numbers, torch.zeros(1, student.width + 1))


def test_refining_is_exact_where_all_coalitions_fit():
    found = refined(of_three, 3, [0.0, 0.5, -0.5], refine=64)
    assert found.values[0].tolist() == pytest.approx([0.25, 0.20, 0.15], abs=1e-6)
    assert found.margins.max() == 0


def test_refining_is_unbiased_and_its_margins_hold():
    truth = by_definition(smooth, 6)
    guess = (truth + torch.tensor([0.1, -0.2, 0.0, 0.1, 0.0, 0.05])).tolist()
    found = [refined(smooth, 6, guess, refine=20, seed=seed) for seed in range(300)]
    several = torch.stack([each.values[0] for each in found])
    error = several.std(0) / 300**0.5
    assert ((several.mean(0) - truth).abs() <= 4 * error + 1e-6).all()
    inside = torch.stack([(each.values[0] - truth).abs() <= each.margins[0] for each in found])
    assert inside.float().mean() > 0.85
    assert all(each.measures["residual"].abs().max() < 1e-5 for each in found)


def test_any_student_on_a_known_scale_can_be_refined():
    """One of occlusion, which asked about the probability: it becomes one of Shapley values, without bias."""

    def chance(x):
        return smooth(x).sigmoid()

    truth = by_definition(chance, 6)
    whole = torch.ones(1, 6, dtype=torch.float64)
    without = whole - torch.eye(6, dtype=torch.float64)
    guess = (chance(whole) - chance(without)).tolist()
    assert (torch.tensor(guess) - truth).abs().max() > 0.02  # it is another method, and biased
    found = [refined(smooth, 6, guess, refine=20, seed=seed, game="prob") for seed in range(300)]
    several = torch.stack([each.values[0] for each in found])
    error = several.std(0) / 300**0.5
    assert ((several.mean(0) - truth).abs() <= 4 * error + 1e-6).all()


def test_a_good_guess_makes_refining_precise():
    truth = by_definition(smooth, 6)
    good = torch.stack([refined(smooth, 6, truth.tolist(), 20, seed).values[0] for seed in range(40)])
    none = torch.stack([refined(smooth, 6, [0.0] * 6, 20, seed).values[0] for seed in range(40)])
    assert (good - truth).pow(2).mean() < 0.5 * (none - truth).pow(2).mean()


@pytest.mark.parametrize("target", ["predicted", "every"])
def test_an_empty_text_has_nothing_to_refine(target):
    classifier, examples = text_classifier()
    student = words_student(game="logit", refine=8)
    empty = [Example("e", {"text": ""}), Example("one", {"text": "film"}), examples[0]]
    found = student.scores(Case.bind(classifier, empty, target=target))
    alone = student.scores(Case.bind(classifier, empty[2:], target=target))
    assert (found.values[0] == 0).all()
    assert torch.allclose(found.values[-1], alone.values[-1], atol=1e-5)


def test_one_pair_of_questions_tells_no_margins():
    for refine in (2, 3):
        assert refined(smooth, 6, [0.0] * 6, refine).margins is None
        assert (
            refined(lambda x: x[:, 0] * x[:, 1], 2, [0.0] * 2, refine).margins is None
        )  # exact; as for its neighbours
    assert refined(smooth, 6, [0.0] * 6, 4).margins.min() > 0


def test_only_scores_on_a_known_scale_can_be_refined():
    with pytest.raises(UsageError, match="not known how its teacher took words away"):
        words_student(refine=8)
    with pytest.raises(UsageError, match="has learned ranking, and not scores"):
        words_student(refine=8, game="logit", form="ranking")
    with pytest.raises(UsageError, match="at least refine=2"):
        words_student(refine=1, game="logit")


def test_a_layer_is_that_of_the_library():
    layer = Layer(WordStudent(labels=("a", "b"), width=24, heads=3)).eval()
    plain = torch.nn.TransformerEncoderLayer(24, 3, 96, 0.0, "relu", batch_first=True).eval()
    plain.load_state_dict(layer.state_dict())
    states, padding = torch.randn(4, 7, 24), torch.arange(7) >= torch.tensor([7, 5, 1, 3])[:, None]
    with torch.no_grad():
        ours, theirs = layer(states, padding), plain(states, src_key_padding_mask=padding)
        assert torch.allclose(ours[~padding], theirs[~padding], atol=1e-5)
        assert torch.allclose(layer(states, None), plain(states), atol=1e-5)
