"""Seeds of partitions are those that spawning all of them gives."""

import numpy as np
import pytest

pytest.importorskip("distributed")

from diffgbm.dask.seeds import child_seed


def test_a_partitions_seed_is_the_one_that_spawning_all_would_give_it():
    seed = np.random.SeedSequence(7).spawn(3)[1]
    expected = np.random.SeedSequence(7).spawn(3)[1].spawn(4)[2]
    np.testing.assert_array_equal(child_seed(seed, 2).generate_state(4), expected.generate_state(4))
