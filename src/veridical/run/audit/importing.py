"""Explanations from elsewhere, taken into the audit's own file, where cards and comparisons find all of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from os import PathLike

from veridical.core.errors import InputError
from veridical.core.explanation import Explanation
from veridical.core.files import ExplanationWriter, read, spec_key

_DUST = 1e-5
"""Beside other neighbours in a batch, the last digits of the same score may be others."""


def take_in(explanations: Iterable[Explanation], examples: Collection[str], into: PathLike[str]) -> list[str]:
    """Copy the explanations of these examples into a file and give the keys of their specs, in order of appearance.

    An explanation that is there already is left as it is; one with other scores than the file has is refused, for
    nobody could say which of the two was judged. Explanations of other examples only are refused, too.
    """
    keys: dict[str, None] = {}
    other: Explanation | None = None
    with ExplanationWriter(into) as writer:
        known = {(each.example_id, spec_key(each.spec)): each.scores for each in read(into)} if writer.count else {}
        for explanation in explanations:
            if explanation.example_id not in examples:
                other = other or explanation
                continue
            place = explanation.example_id, spec_key(explanation.spec)
            keys[place[1]] = None
            if place not in known:
                writer.write(explanation)
            _check_same(known.setdefault(place, explanation.scores), explanation)
    if other is not None and not keys:
        raise _strange(other, examples)
    return list(keys)


def _check_same(known: tuple[float, ...], explanation: Explanation) -> None:
    pairs = zip(known, explanation.scores, strict=False)
    if len(known) != len(explanation.scores) or any(abs(mine - other) > _DUST for mine, other in pairs):
        raise InputError(
            f"an earlier audit in this folder has other scores by {explanation.source}",
            example=explanation.example_id,
            remedy="Choose another folder, or delete this one.",
        )


def _strange(explanation: Explanation, examples: Collection[str]) -> InputError:
    return InputError(
        f"the explanations by {explanation.source} are of other examples, such as {explanation.example_id!r}; "
        f"here is {min(examples)!r}",
        remedy="Audit the data that was explained.",
    )
