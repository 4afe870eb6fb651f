"""The verbs that erasers are made of, on every family."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from veridical.core.errors import UnsupportedError
from veridical.core.values import Example
from veridical.masking.case import Case
from veridical.masking.erasure import ERASERS, positions
from veridical.models import Batch, Rows
from veridical.models.text_classifier import TextClassifier
from veridical.testing.families import DECODERS, FAMILIES, family

Make = Callable[..., TextClassifier]

ALL_OR_NOTHING = {"longformer", "deberta-v2", "modernbert", *DECODERS}  # no weights between 0 and 1 in attention
HARD = [(name, eraser) for name in FAMILIES for eraser in ERASERS] + [
    (name, eraser) for name in DECODERS for eraser in ("delete", "pad", "pad_attn", "zero")
]
SOFT = [
    (name, eraser)
    for name, eraser in HARD
    if eraser != "delete" and not (eraser == "pad_attn" and name in ALL_OR_NOTHING)
]


def logits(classifier: TextClassifier, rows: Rows) -> Tensor:
    with torch.no_grad():
        return classifier.run(rows).logits


def erase(classifier: TextClassifier, batch: Batch, eraser: str, keep: Tensor) -> Rows:
    return ERASERS.create(eraser)(classifier, batch.rows, keep)


def some(batch: Batch) -> Tensor:
    """Every second unit."""
    return (torch.arange(batch.live.shape[1]) % 2 == 0).expand(len(batch), -1).clone()


def twins(classifier: TextClassifier, start: str, end: str = "") -> Batch:
    """Two texts of equally many tokens that differ in one word."""
    found: dict[int, tuple[str, list[int]]] = {}
    for word in ("b", "c", "d", "e", "f", "it", "is"):
        text = f"{start}{word}{end}"
        ids = classifier.tokenizer(text)["input_ids"]
        other, theirs = found.setdefault(len(ids), (text, ids))
        if theirs != ids:
            return classifier.encode([Example.of(other), Example.of(text)])
    raise AssertionError("no two words of equal length")


@pytest.fixture
def both(examples: list[Example], pairs: list[Example]) -> list[list[Example]]:
    return [examples, pairs]


@pytest.mark.parametrize(("name", "eraser"), HARD)
def test_all_kept_is_the_input_itself(make: Make, name: str, eraser: str, both: list[list[Example]]) -> None:
    classifier = make(name)
    for batch in map(classifier.encode, both):
        found = logits(classifier, erase(classifier, batch, eraser, torch.ones_like(batch.live)))
        torch.testing.assert_close(found, logits(classifier, batch.rows), atol=1e-6, rtol=0)


@pytest.mark.parametrize(("name", "eraser"), HARD)
def test_nothing_kept_tells_nothing_of_the_words(make: Make, name: str, eraser: str) -> None:
    classifier = make(name)
    batch = twins(classifier, "gorgeous ", " movie")
    one, other = logits(classifier, erase(classifier, batch, eraser, torch.zeros_like(batch.live)))
    torch.testing.assert_close(one, other, atol=1e-6, rtol=0)


@pytest.mark.parametrize(("name", "eraser"), HARD)
def test_erasing_changes_the_answer(make: Make, name: str, eraser: str, examples: list[Example]) -> None:
    classifier = make(name)
    batch = classifier.encode(examples[:1])
    found = logits(classifier, erase(classifier, batch, eraser, some(batch)))
    assert (found - logits(classifier, batch.rows)).abs().max() > 1e-3


@pytest.mark.parametrize("eraser", ["delete", "mask", "pad", "pad_attn"])
def test_special_tokens_survive(make: Make, name: str, eraser: str, pairs: list[Example]) -> None:
    classifier = make(name)
    batch = classifier.encode(pairs)
    gone = torch.zeros_like(batch.live)
    before, after = batch.rows, erase(classifier, batch, eraser, gone)
    framing = set(classifier.tokenizer.all_special_ids) - {classifier.pad_id}
    for row in range(len(before)):
        marks = before.inputs["input_ids"][row][before.unit_of[row] < 0]
        left = after.inputs["input_ids"][row][: after.lengths[row]]
        if eraser == "delete":
            assert left.tolist() == [mark for mark in marks.tolist() if mark in framing]
            assert after.lengths[row] == classifier.tokenizer.num_special_tokens_to_add(pair=True)
            assert after.inputs["attention_mask"][row].sum() == after.lengths[row]
        else:
            at = before.unit_of[row] < 0
            assert torch.equal(after.inputs["input_ids"][row][at], before.inputs["input_ids"][row][at])
            assert torch.equal(after.inputs["attention_mask"][row][at], before.inputs["attention_mask"][row][at])


def test_deleting_is_reading_the_shorter_text(make: Make, any_name: str) -> None:
    classifier = make(any_name)
    batch = classifier.encode([Example.of("the gorgeous movie is dull")])
    keep = torch.tensor([[True, False, True, True, False]])
    shorter = classifier.encode([Example.of("the movie is")])
    rows = erase(classifier, batch, "delete", keep)
    assert rows.inputs["input_ids"][0, : rows.lengths[0]].tolist() == shorter.rows.inputs["input_ids"][0].tolist()
    torch.testing.assert_close(logits(classifier, rows), logits(classifier, shorter.rows), atol=1e-5, rtol=0)


@pytest.mark.parametrize("hold", ["text", "text_pair"])
@pytest.mark.parametrize("eraser", ["delete", "mask", "pad"])
def test_held_fields_survive(make: Make, name: str, eraser: str, hold: str, pairs: list[Example]) -> None:
    classifier = make(name, hold=hold)
    batch = classifier.encode(pairs[:1])
    held = classifier.tokenizer(str(pairs[0].inputs[hold]), add_special_tokens=False)["input_ids"]
    rows = erase(classifier, batch, eraser, torch.zeros_like(batch.live))
    left = rows.inputs["input_ids"][0].tolist()
    assert any(left[at : at + len(held)] == held for at in range(len(left)))


@pytest.mark.parametrize(("name", "eraser"), SOFT)
def test_soft_zero_and_one_are_hard(make: Make, name: str, eraser: str, both: list[list[Example]]) -> None:
    classifier = make(name)
    for batch in map(classifier.encode, both):
        keep = some(batch)
        soft = logits(classifier, erase(classifier, batch, eraser, keep.float()))
        hard = logits(classifier, erase(classifier, batch, eraser, keep))
        torch.testing.assert_close(soft, hard, atol=1e-5, rtol=0)


@pytest.mark.parametrize(("name", "eraser"), SOFT)
def test_gradients_reach_what_is_kept_in_part(make: Make, name: str, eraser: str, examples: list[Example]) -> None:
    classifier = make(name)
    batch = classifier.encode(examples)
    keep = (batch.live * 0.5).requires_grad_()
    found = classifier.run(erase(classifier, batch, eraser, keep)).logits
    (gradient,) = torch.autograd.grad(found[:, 0].sum(), keep)
    assert torch.isfinite(gradient).all()
    assert (gradient[batch.live] != 0).all()
    assert (gradient[~batch.live] == 0).all()
    between = logits(classifier, erase(classifier, batch, eraser, keep.detach()))
    ends = [logits(classifier, erase(classifier, batch, eraser, batch.live * end)) for end in (0.0, 1.0)]
    assert all((between - end).abs().max() > 1e-4 for end in ends)


@pytest.mark.parametrize("eraser", ["mask", "pad", "zero"])
def test_the_gradient_of_a_part_is_its_derivative(any_name: str, eraser: str) -> None:
    classifier = family(any_name)
    if eraser not in classifier.provides:
        pytest.skip(f"{any_name} has no {eraser}")
    classifier.model.double()
    batch = classifier.encode([Example.of("the movie is dull")])
    keep = torch.full((1, 4), 0.6, dtype=torch.float64, requires_grad=True)
    found = classifier.run(erase(classifier, batch, eraser, keep)).logits[0, 0]
    (gradient,) = torch.autograd.grad(found, keep)
    step = 1e-4 * torch.eye(4, dtype=torch.float64)[:, None]  # [4, 1, 4]
    for unit, change in enumerate(step):
        ends = [logits(classifier, erase(classifier, batch, eraser, keep.detach() + way * change)) for way in (1, -1)]
        slope = (ends[0] - ends[1])[0, 0] / 2e-4
        torch.testing.assert_close(gradient[0, unit], slope, atol=1e-3, rtol=1e-2)


@pytest.mark.parametrize("name", sorted(ALL_OR_NOTHING))
def test_half_hiding_is_refused_where_it_would_be_ignored(make: Make, name: str, examples: list[Example]) -> None:
    classifier = make(name)
    batch = classifier.encode(examples)
    rows = erase(classifier, batch, "pad_attn", batch.live * 0.5)
    with pytest.raises(UnsupportedError, match=f"{name} models cannot half-hide a word from attention"):
        classifier.run(rows)


@pytest.mark.parametrize("eraser", ["delete", "mask", "pad", "pad_attn", "zero"])
def test_erased_words_have_no_say(make: Make, any_name: str, eraser: str) -> None:
    """Two texts that differ in the erased word only are the same afterwards."""
    classifier = make(any_name)
    if eraser not in classifier.provides:
        pytest.skip(f"{any_name} has no {eraser}")
    batch = twins(classifier, "the ", " movie is")
    keep = torch.tensor([[True, False, True, True]]).expand(2, -1)
    one, other = logits(classifier, erase(classifier, batch, eraser, keep))
    torch.testing.assert_close(one, other, atol=1e-6, rtol=0)
    full = logits(classifier, batch.rows)
    assert (full[0] - full[1]).abs().max() > 1e-3


@pytest.mark.parametrize("name", ["roberta", "xlm-roberta", "longformer"])
@pytest.mark.parametrize("eraser", ["pad", "pad_attn"])
def test_padding_in_place_moves_no_positions(make: Make, name: str, eraser: str, examples: list[Example]) -> None:
    """These models number the tokens that are not padding, which an erased word must go on counting as."""
    classifier = make(name)
    batch = classifier.encode(examples)
    keep = some(batch)
    gone = (batch.rows.unit_of >= 0) & ~keep.gather(1, batch.rows.unit_of.clamp(min=0))
    ids = batch.rows.inputs["input_ids"].masked_fill(gone, classifier.pad_id)
    mask = batch.rows.inputs["attention_mask"]
    start = classifier.model.config.pad_token_id + 1
    positions = torch.arange(ids.shape[1]).expand_as(ids) + start
    positions = positions.masked_fill(mask == 0, classifier.pad_id)
    mask = mask * ~gone if eraser == "pad_attn" else mask
    with torch.no_grad():
        by_hand = classifier.model(input_ids=ids, attention_mask=mask, position_ids=positions).logits
        moved = classifier.model(input_ids=ids, attention_mask=mask).logits
    found = logits(classifier, erase(classifier, batch, eraser, keep))
    torch.testing.assert_close(found, by_hand, atol=1e-6, rtol=0)
    assert (found - moved).abs().max() > 1e-3  # the model alone would move them


def test_hiding_multiplies_attention(make: Make) -> None:
    classifier = make("bert")
    rows = classifier.encode([Example.of("the movie is dull")]).rows
    gone = rows.unit_of == 1

    def first_layer(weight: float) -> Tensor:
        with torch.no_grad():
            output = classifier.run(classifier.hide(rows, 1 - (1 - weight) * gone.float()), attentions=True)
        assert output.attentions is not None
        return output.attentions[0][0]  # [H, T, T]

    def odds(attention: Tensor) -> Tensor:
        share = attention[..., gone[0]].sum(-1)
        return share / (1 - share)

    assert first_layer(0.0)[..., gone[0]].max() == 0
    torch.testing.assert_close(odds(first_layer(0.25)), odds(first_layer(1.0)) / 4, atol=1e-6, rtol=1e-4)


def test_questions_that_differ_in_the_filling_only_are_not_confused(make: Make, examples: list[Example]) -> None:
    """The answers of a case are remembered by what the model reads, which includes what a half word is mixed with."""
    classifier = make("bert")
    case = Case.bind(classifier, examples[:1], eraser="mask")
    keep = (case.live * 0.5)[:, None]
    masked = case.value(keep)
    for eraser in ("pad", "zero"):
        alone = Case.bind(classifier, examples[:1], eraser=eraser).value(keep)
        torch.testing.assert_close(case.with_eraser(eraser).value(keep), alone)
        assert not torch.equal(alone, masked)


def test_a_tokenizer_without_a_mask_is_refused_by_name(examples: list[Example]) -> None:
    classifier = family("gpt2")
    assert "mask" not in classifier.provides
    with pytest.raises(UnsupportedError, match="erasing by 'mask' needs mask"):
        Case.bind(classifier, examples, eraser="mask").value(torch.zeros(3, 1, 20, dtype=torch.bool))


def test_zero_output_is_what_mask_layers_do(make: Make, examples: list[Example]) -> None:
    classifier = make("bert")
    batch = classifier.encode(examples)
    keep = some(batch)
    kept = positions(batch.rows, keep).float()
    with torch.no_grad():
        masked = classifier.run(batch.rows, enter=lambda states: states * kept[..., None]).logits
    assert torch.equal(logits(classifier, erase(classifier, batch, "zero_output", keep)), masked)
    assert not torch.allclose(logits(classifier, erase(classifier, batch, "zero", keep)), masked, atol=1e-4)
