"""What the package offers is at the top of Veridical, too, and no model library is needed for it."""

from __future__ import annotations

import subprocess
import sys

import pytest

import veridical
from veridical import people


@pytest.mark.parametrize(
    "name",
    ["Ranking", "Worths", "agreement", "competition_ranks", "partial_ranks", "plackett_luce", "trueskill"],
)
def test_what_a_user_calls_is_at_the_top(name: str) -> None:
    assert getattr(veridical, name) is getattr(people, name)
    assert name in veridical.__all__


def test_statistics_of_rankings_need_no_torch() -> None:
    code = "\n".join(
        [
            "import sys",
            "from veridical import Ranking, agreement, plackett_luce, trueskill",
            "rankings = [Ranking(text, name, {'a': 1, 'b': 2}) for text in '12' for name in 'xy']",
            "plackett_luce(rankings), trueskill(rankings), agreement(rankings)",
            "assert not {'torch', 'transformers'} & {*sys.modules}",
        ]
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
