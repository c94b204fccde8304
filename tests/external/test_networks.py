"""Batches of small networks: members that do not mix, training that keeps the best epoch and leaks nothing."""

import pytest
import torch
from benchmarks.families.networks import PATIENCE, Networks, Rows, batch_size, torch_threads, train


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def test_a_batch_of_networks_is_networks_one_by_one():
    batch = Networks(3, (4, 8, 6, 2), generator())
    x = torch.randn(3, 5, 4, generator=generator(1))
    out = batch(x)
    for m in range(3):
        h = x[m]
        for weight, bias in zip(batch.weights[:-1], batch.biases[:-1], strict=True):
            h = torch.clamp(h @ weight[m] + bias[m], min=0.0)
        torch.testing.assert_close(out[m], h @ batch.weights[-1][m] + batch.biases[-1][m])


def test_gates_are_one_at_first_and_multiply_the_layers_of_their_step():
    plain, gated = Networks(2, (3, 8, 1), generator()), Networks(2, (3, 8, 1), generator(), n_steps=5)
    x = torch.randn(2, 7, 3, generator=generator(1))
    torch.testing.assert_close(gated(x, 2), plain(x))
    with torch.no_grad():
        gated.gates[0][:, 2] = 0.0
    torch.testing.assert_close(gated(x, 2), gated.biases[-1].expand(2, 7, 1))
    torch.testing.assert_close(gated(x, 3), plain(x))
    steps = torch.tensor([[2, 3, 2, 3, 3, 3, 3]] * 2)
    mixed = gated(x, steps)
    torch.testing.assert_close(mixed[:, steps[0] == 2], gated(x, 2)[:, steps[0] == 2])
    torch.testing.assert_close(mixed[:, steps[0] == 3], gated(x, 3)[:, steps[0] == 3])


def test_gradients_of_members_do_not_mix():
    batch = Networks(3, (2, 4, 1), generator())
    batch(torch.randn(3, 6, 2, generator=generator(1)))[1].square().sum().backward()
    for p in batch.parameters():
        assert torch.count_nonzero(p.grad[[0, 2]]) == 0
    assert torch.count_nonzero(batch.weights[-1].grad[1]) > 0


@pytest.mark.parametrize("n", [10, 57, 1000])
def test_every_member_holds_out_its_own_tenth(n):
    rows = Rows.split(n, 4, generator())
    assert rows.valid.shape == (4, round(0.1 * n))
    for m in range(4):
        assert torch.cat([rows.train[m], rows.valid[m]]).sort().values.tolist() == list(range(n))
    if n > 10:
        assert not torch.equal(rows.valid[0].sort().values, rows.valid[1].sort().values)


def regression(seed=0):
    X = torch.randn(200, 3, generator=generator(seed))
    return X, X[:, 0] - 2.0 * X[:, 1] + 0.1 * torch.randn(200, generator=generator(seed + 1))


def test_training_learns_and_keeps_each_members_best_epoch():
    X, y = regression()
    rng = generator(2)
    rows, batch = Rows.split(200, 3, rng), Networks(3, (3, 32, 1), rng)
    history = []

    def loss(chosen):
        return (batch(X[chosen])[..., 0] - y[chosen]).square().mean(dim=1)

    def validation():
        history.append(loss(rows.valid).clone())
        return history[-1]

    train(batch, loss, validation, rows, epochs=60, learning_rate=0.02, generator=rng)
    kept = loss(rows.valid)
    torch.testing.assert_close(kept, torch.stack(history).min(dim=0).values)
    assert len(history) == 60
    assert torch.all(kept < 0.1 * y.var())


def test_training_stops_when_nothing_improves():
    X, y = regression()
    rng = generator(2)
    rows, batch = Rows.split(200, 2, rng), Networks(2, (3, 4, 1), rng)
    before = [p.detach().clone() for p in batch.parameters()]
    calls = []

    def validation():
        calls.append(1)
        return torch.full((2,), float("nan"))

    def loss(chosen):
        return (batch(X[chosen])[..., 0] - y[chosen]).square().mean(dim=1)

    train(batch, loss, validation, rows, epochs=500, learning_rate=0.01, generator=rng)
    assert len(calls) == PATIENCE + 1
    # a loss that is no number is no improvement, so the weights are those of the beginning
    assert all(torch.equal(p, q) for p, q in zip(batch.parameters(), before, strict=True))


def test_threads_are_given_back_also_after_an_error():
    before = torch.get_num_threads()
    with torch_threads(before + 1):
        assert torch.get_num_threads() == before + 1
    assert torch.get_num_threads() == before

    def fail():
        with torch_threads(before + 1):
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert torch.get_num_threads() == before


@pytest.mark.parametrize(("n", "rows"), [(20, 32), (3200, 100), (100_000, 256)])
def test_batches_grow_with_the_table_within_bounds(n, rows):
    assert batch_size(n) == rows
