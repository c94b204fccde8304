"""The Dask client in use, and the workers of its cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from diffgbm._util.errors import ClusterError
from diffgbm._util.optional import need


def the_client(client: Any = None) -> Any:
    """Return ``client``, or Dask's current client if it is ``None``."""
    distributed = need("distributed")
    if client is None:
        try:
            client = distributed.default_client()
        except ValueError:
            raise ClusterError(
                "There is no Dask client: make one first (dask.distributed.Client(address), or LocalCluster() on this "
                "machine), or pass it as client=."
            ) from None
    if not isinstance(client, distributed.Client) or client.asynchronous:
        raise TypeError(f"client must be a dask.distributed.Client that is not asynchronous; got {client!r}.")
    if client.status != "running":
        raise ClusterError(f"The Dask client is not connected: its status is {client.status!r}.")
    return client


def workers_of(client: Any, wanted: Sequence[str] | None = None) -> dict[str, int]:
    """Return the number of threads of each worker by its address, sorted; only of the ``wanted`` ones."""
    present = client.nthreads()
    if not present:
        raise ClusterError(f"The cluster of {client} has no workers.")
    if wanted is not None and (unknown := sorted(set(wanted) - set(present))):
        raise ClusterError(f"The cluster has no worker {unknown[0]!r}; it has {', '.join(sorted(present))}.")
    chosen = sorted(present if wanted is None else set(wanted))
    # workers in one process share LightGBM's network: only one of them can train
    threads = [address for address in chosen if address.startswith("inproc://")]
    return {address: present[address] for address in chosen if address not in threads[1:]}
