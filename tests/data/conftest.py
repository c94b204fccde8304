"""Table files that several tests read."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest


def written(path, **content):
    """Write columns to a Parquet file."""
    pq.write_table(pa.table(content), path)
    return path


@pytest.fixture
def table(tmp_path):
    return written(
        tmp_path / "t.parquet",
        size=[1.5, None, 3.0],
        town=["x", "y", None],
        garden=[True, False, True],
        price=[10, 20, 30],
        rent=[1.0, 2.0, 3.0],
    )
