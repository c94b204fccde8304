"""The order of the examples: what most people want first."""

LESSONS = [
    "plot_intervals.py",
    "plot_concepts.py",
    "plot_bimodal.py",
    "plot_calibration.py",
    "plot_conformal.py",
    "plot_newsvendor.py",
    "plot_joint.py",
    "plot_categories.py",
    "plot_pipeline.py",
    "plot_large_tables.py",
    "plot_engine.py",
]


class ByLesson:
    """Sort key of an example's file name; one that is not listed stops the build."""

    def __init__(self, src_dir: str) -> None:
        self.src_dir = src_dir

    def __call__(self, filename: str) -> int:
        """Position among the lessons."""
        return LESSONS.index(filename)

    def __repr__(self) -> str:
        return type(self).__name__
