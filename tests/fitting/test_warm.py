import diffgbm
from diffgbm.first_stage import _leaf_kernels


def test_warmup_compiles_the_first_stages_kernel_for_what_a_leaf_forest_passes():
    diffgbm.warmup()
    signatures = list(_leaf_kernels.average_leaves.signatures)
    diffgbm.DiffGBM.flow(n_estimators=5, first_stage_features="cdf", n_jobs=1, seed=0).fit(
        [[float(i)] for i in range(90)], [float(i % 7) for i in range(90)]
    )
    assert list(_leaf_kernels.average_leaves.signatures) == signatures
