"""DiffGBM on a Dask cluster: trained by all workers together, evaluated partition by partition."""

from diffgbm._util.optional import need

for _module in ("dask.array", "dask.dataframe", "distributed"):
    need(_module)

from diffgbm._util.errors import ClusterError  # noqa: E402
from diffgbm.dask.estimator import DaskDiffGBM  # noqa: E402  # missing packages get our message first
from diffgbm.dask.lazy import DaskDistribution  # noqa: E402

__all__ = ["ClusterError", "DaskDiffGBM", "DaskDistribution"]
