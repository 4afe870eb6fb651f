from __future__ import annotations

import numpy as np
import pytest
import torch
from transformers import BeitConfig, BeitForImageClassification

from veridical.core.errors import InputError, ModelError
from veridical.core.values import Example, Image
from veridical.masking.erasure import ERASERS
from veridical.models.image_classifier import ImageClassifier
from veridical.models.loader import wrap
from veridical.models.new import start


def picture(seed: int, height: int = 8, width: int = 8, channels: int = 3) -> Example:
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, channels))
    return Example.of(Image(pixels.astype(np.uint8)), str(seed))


@pytest.fixture
def pictures() -> list[Example]:
    return [picture(0), picture(1), picture(2)]


@pytest.fixture
def vit(pictures: list[Example]) -> ImageClassifier:
    made = start("tiny", pictures, ("a", "b", "c"))
    assert isinstance(made, ImageClassifier)
    made.model.eval()
    return made


def test_logits_are_the_models_own(vit: ImageClassifier, pictures: list[Example]) -> None:
    batch = vit.encode(pictures)
    pixels = np.stack([example.inputs["image"].pixels for example in pictures])  # type: ignore[union-attr]
    direct = vit.model(pixel_values=torch.tensor(pixels).permute(0, 3, 1, 2) / 255 * 2 - 1).logits
    torch.testing.assert_close(vit.run(batch.rows).logits, direct, atol=1e-6, rtol=0)
    alone = vit.run(vit.encode(pictures[1:2]).rows).logits
    torch.testing.assert_close(alone, direct[1:2], atol=1e-5, rtol=0)


def test_units_are_patches_that_cover_the_image(vit: ImageClassifier) -> None:
    (units,) = vit.encode([picture(3, height=11, width=6)]).units
    covered = np.zeros((11, 6), dtype=int)
    for unit in units:
        top, left, bottom, right = unit.span
        covered[top:bottom, left:right] += 1
    assert len(units) == 16
    assert (covered == 1).all()
    assert [unit.text for unit in units[:2]] == ["patch 1,1", "patch 1,2"]


def test_embeddings_and_gradients(vit: ImageClassifier, pictures: list[Example]) -> None:
    vit.model.requires_grad_(False)
    rows = vit.encode(pictures).rows
    leaf = vit.embed(rows).detach().requires_grad_()
    output = vit.run(rows, embeds=leaf, attentions=True)
    assert torch.equal(output.logits, vit.run(rows).logits)
    (gradient,) = torch.autograd.grad(output.logits[:, 0].sum(), leaf, create_graph=True)
    assert (gradient[:, 1:].norm(dim=-1) > 0).all()
    assert (gradient[:, 0] == 0).all()  # the class token has no input
    (second,) = torch.autograd.grad(gradient.square().sum(), leaf)
    assert torch.isfinite(second).all()
    assert second.abs().max() > 0
    assert output.attentions is not None
    torch.testing.assert_close(output.attentions[0].sum(-1), torch.ones(3, 4, 17), atol=1e-5, rtol=0)


@pytest.mark.parametrize("eraser", list(ERASERS))
def test_erasing_patches(vit: ImageClassifier, eraser: str) -> None:
    one, other = picture(0), picture(0)
    other.inputs["image"].pixels[:2, :2] = 255  # type: ignore[union-attr]
    batch = vit.encode([one, other])
    full = vit.run(batch.rows).logits
    erase = ERASERS.create(eraser)
    assert (full[0] - full[1]).abs().max() > 1e-3
    torch.testing.assert_close(vit.run(erase(vit, batch.rows, batch.live)).logits, full, atol=1e-6, rtol=0)
    keep = batch.live.clone()
    keep[:, 0] = False
    without = vit.run(erase(vit, batch.rows, keep)).logits
    torch.testing.assert_close(without[0], without[1], atol=1e-6, rtol=0)
    assert (without[0] - full[0]).abs().max() > 1e-4
    if eraser != "delete":
        soft = vit.run(erase(vit, batch.rows, keep.float())).logits
        torch.testing.assert_close(soft, without, atol=1e-5, rtol=0)
        half = (keep * 0.5).requires_grad_()
        (gradient,) = torch.autograd.grad(vit.run(erase(vit, batch.rows, half)).logits[:, 0].sum(), half)
        assert torch.isfinite(gradient).all()
        assert (gradient[:, 1:] != 0).all()


def test_masked_patches_are_grey_and_padded_ones_black(vit: ImageClassifier) -> None:
    vit.mean, vit.std = (0.2, 0.4, 0.6), (0.1, 0.2, 0.4)
    batch = vit.encode([picture(0)])
    gone = batch.rows.unit_of == 0
    for token, level in (("mask", 0.5), ("pad", 0.0)):
        pixels = vit.substitute(batch.rows, gone, token).inputs["pixel_values"]
        expected = [(level - mean) / std for mean, std in zip(vit.mean, vit.std, strict=True)]
        torch.testing.assert_close(pixels[0, :, 0, 0], torch.tensor(expected))
        assert torch.equal(pixels[0, :, 2:], batch.rows.inputs["pixel_values"][0, :, 2:])


def test_wrong_images_are_named(vit: ImageClassifier) -> None:
    with pytest.raises(InputError, match="example 5, field 'image': the image has 1 channels, the model reads 3"):
        vit.encode([picture(5, channels=1)])
    with pytest.raises(InputError, match="example t, field 'image': there is no image"):
        vit.encode([Example.of("text", "t")])


def test_models_that_average_patches_are_refused() -> None:
    config = BeitConfig(
        image_size=8, patch_size=2, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
    )
    with pytest.raises(ModelError, match="BeitForImageClassification does not decide on a class token.*vit"):
        wrap(BeitForImageClassification(config))


def test_a_shift_acts_on_what_enters_the_first_layer(vit, pictures):
    rows = vit.encode(pictures).rows
    shift = torch.randn(vit.no_shift(rows).shape, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        plain, other = (vit.run(rows, shift=each, hidden=True) for each in (None, shift))
    torch.testing.assert_close(other.hidden[0] - plain.hidden[0], shift, atol=1e-5, rtol=0)
    assert not torch.equal(other.logits, plain.logits)
