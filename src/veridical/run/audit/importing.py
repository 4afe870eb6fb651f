"""Explanations from elsewhere, taken into the audit's own file, where cards and comparisons find all of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from os import PathLike

from veridical.core.errors import InputError
from veridical.core.explanation import Explanation
from veridical.core.files import ExplanationWriter, read, spec_key


def take_in(explanations: Iterable[Explanation], examples: Collection[str], into: PathLike[str]) -> list[str]:
    """Copy the explanations of these examples into a file and give the keys of their specs, in order of appearance.

    An explanation that is there already is left as it is; one with other scores than the file has is refused, for
    nobody could say which of the two was judged.
    """
    keys: dict[str, None] = {}
    with ExplanationWriter(into) as writer:
        known = {(each.example_id, spec_key(each.spec)): each for each in read(into)} if writer.count else {}
        for explanation in explanations:
            if explanation.example_id not in examples:
                continue
            place = explanation.example_id, spec_key(explanation.spec)
            keys[place[1]] = None
            if place not in known:
                writer.write(explanation)
                known[place] = explanation
            elif known[place].scores != explanation.scores:
                raise InputError(
                    f"an earlier audit in this folder has other scores by {explanation.source}",
                    example=explanation.example_id,
                    remedy="Choose another folder, or delete this one.",
                )
    return list(keys)
