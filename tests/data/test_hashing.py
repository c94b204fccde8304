import numpy as np

from diffgbm.data.hashing import mixed_bits


def test_the_first_numbers_of_splitmix64():
    # the reference implementation's output for the seed 1234567
    step = np.uint64(0x9E3779B97F4A7C15)
    with np.errstate(over="ignore"):
        states = np.uint64(1234567) + step * np.arange(1, 4, dtype=np.uint64)
    assert mixed_bits(states).tolist() == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def test_numbers_that_differ_in_one_bit_become_unlike():
    flipped = mixed_bits(np.uint64(1) << np.arange(64, dtype=np.uint64)) ^ mixed_bits(np.uint64(0))
    ones = np.unpackbits(flipped.view(np.uint8)).reshape(64, 64).sum(axis=1)
    assert abs(ones.mean() - 32.0) < 4.0 * 4.0 / 8.0
