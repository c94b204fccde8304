"""Optional dependencies: imported when needed, with a message that says what to install."""

from __future__ import annotations

from importlib import import_module
from typing import Any

EXTRAS = {
    "dask": "dask",
    "dask.array": "dask",
    "dask.dataframe": "dask",
    "distributed": "dask",
    "matplotlib": "plot",
    "matplotlib.pyplot": "plot",
    "openpyxl": "excel",
    "optuna": "tune",
    "pandas": "bench",
    "pooch": "bench",
    "pyarrow": "cli",
    "rich.console": "cli",
    "rich.table": "cli",
    "skops.io": "skops",
    "skpro.distributions": "skpro",
    "skpro.regression.base": "skpro",
    "starlette": "serve",
    "typer": "cli",
    "uvicorn": "serve",
    "xlrd": "bench",
}


def need(module: str) -> Any:
    """Import ``module`` or say how to install it."""
    try:
        return import_module(module)
    except ImportError:
        package = module.split(".")[0]
        extra = f" (or 'diffgbm[{EXTRAS[module]}]')" if module in EXTRAS else ""
        raise ImportError(f"This needs {package}, which is not installed: pip install {package}{extra}.") from None
