"""Bars on a terminal."""

from types import SimpleNamespace

import pytest

from veridical.cli.progress import TrainingBar


def test_a_training_that_ends_early_leaves_no_bar():
    with pytest.raises(KeyboardInterrupt), TrainingBar() as training:
        training.on_train_begin(None, SimpleNamespace(max_steps=3, global_step=0), None)
        assert training.progress.live.is_started
        raise KeyboardInterrupt
    assert not training.progress.live.is_started
