"""Tables of the protocol on small hand-worked sets of lines: blocks, means, notes, pages, rendering, files."""

import json
import math

import numpy as np
import pytest
from benchmarks.__main__ import main
from benchmarks.families import HEADLINE
from benchmarks.tables import aggregates, budget, figures, notes, per_data_set, ranks, sizes
from benchmarks.tables.aggregates import SPECS, Spec, metric, relative_crps
from benchmarks.tables.blocks import blocks, rows_of
from benchmarks.tables.cells import NoResults, read_results, results_of
from benchmarks.tables.command import pages, write_tables
from benchmarks.tables.labels import numbers
from benchmarks.tables.render import escape_latex, latex, markdown
from benchmarks.tables.value import Column, Number, Page, Table, best_cells, fixed, significant

from benchmarks import configs

THREE = ("published", "score_flex_sde", "flow_vp")


def line(data_set, family, fold=1, crps=1.0, **changes):
    """An evaluation line; keyword arguments that are metrics go there."""
    top = {"fit_seconds": 2.0, "sample_seconds": 0.5, "n_train": 100, "n_test": 20, "n_samples": 200, "threads": 1}
    top |= {"params": {"depth": 3}, "source_hash": "abc"}
    trials = {"n_trials_target": 40, "n_trials_finite": 7, "n_trials_failed": 1}
    scores = {"crps": crps, "crpss": 1.0 - crps / 10.0, "dss": 0.1, "pit_ks_p": 0.2, "q_mace": 0.03}
    scores |= {f"coverage_error_{level}": 0.02 for level in (50, 80, 90, 95)}
    chosen = {name: changes.pop(name) for name in list(changes) if name not in top}
    limits = {"trials": None, "minutes": 10.0}
    key = {"data_set": data_set, "family": family, "fold": fold}
    return {**key, **top, **changes, "metrics": {**scores, **chosen}, "budget": {**limits, **trials}}


def table_of(page, place=0):
    return page.tables[place]


def entries(table, row):
    """The row of a family, or of a data set."""
    return next(r for r in table.rows if r[0] == row)


# blocks


def test_means_are_over_folds_first_then_over_data_sets():
    lines = [
        line("yacht", f, fold, crps=fold * scale) for f, scale in (("published", 1), ("flow_vp", 3)) for fold in (1, 2)
    ]
    lines += [line("energy", f, 1, crps=10.0) for f in ("published", "flow_vp")]
    (block,) = blocks(results_of(lines), THREE)
    assert block.means(metric("crps")).tolist() == [[1.5, 10.0], [4.5, 10.0]]
    # the data set with one fold counts as much as the one with two
    assert aggregates.CRPS.compute(block).tolist() == [5.75, 7.25]
    assert relative_crps(block).tolist() == [[1.0, 1.0], [3.0, 1.0]]
    assert aggregates.REL_CRPS.compute(block).tolist() == [1.0, 2.0]


def test_a_missing_family_costs_its_data_set_and_both_are_named():
    lines = [line(d, f) for d in ("yacht", "energy", "wine") for f in THREE if (d, f) != ("wine", "flow_vp")]
    wide, more = blocks(results_of(lines), (*THREE, "card"))
    assert (wide.families, wide.data_sets) == (THREE, ("yacht", "energy"))
    assert "Left out: CARD-style diffusion (not run)." in wide.omissions
    assert "Left out: wine (no results of DiffGBM-FM)." in wide.omissions
    assert (more.families, more.data_sets) == (THREE[:2], ("yacht", "energy", "wine"))
    assert "Left out: DiffGBM-FM (no results on wine)." in more.omissions
    assert any("naval" in note and note.endswith("(not run).") for note in more.omissions)


def test_different_folds_leave_those_that_all_have_and_say_so():
    lines = [line("yacht", "published", fold, crps=fold) for fold in (1, 2, 3, 4, 5)]
    lines += [line("yacht", "flow_vp", fold, crps=fold) for fold in (1, 2, 4)]
    (block,) = blocks(results_of(lines), THREE)
    assert block.folds("yacht") == (1, 2, 4)
    assert block.means(metric("crps")) == pytest.approx(np.full((2, 1), 7 / 3))
    assert block.fold_notes == ("yacht: only folds 1, 2, 4, which all families have; Treeffuser-published has more.",)
    (row,) = rows_of(results_of(lines), THREE)
    assert per_data_set.value(row, "published", metric("crps")) == pytest.approx(7 / 3)
    assert block.fold_notes[0] in table_of(per_data_set.crpss_page(results_of(lines))).notes


def test_families_without_a_common_fold_are_not_compared():
    results = results_of([line("yacht", "published", 1), line("yacht", "flow_vp", 2)])
    assert blocks(results, THREE) == ()
    (row,) = rows_of(results, THREE)
    assert row.families == ("published",)
    assert row.omissions == ("yacht: DiffGBM-FM left out, no fold in common with the others.",)
    for page in pages(results):
        assert page.tables or page.notes == (notes.NOTHING,)
    assert notes.NOTHING in markdown(aggregates.page(results, SPECS[0]))


def test_every_family_is_in_the_first_block_and_one_that_ran_little_does_not_hide_the_others():
    lines = [line(d, f) for d in ("yacht", "energy", "wine") for f in THREE]
    lines += [line("yacht", "ngboost"), line("naval", "published"), line("naval", "flow_vp")]
    result = blocks(results_of(lines), (*THREE, "ngboost"))
    assert [(len(block.families), len(block.data_sets)) for block in result] == [(4, 1), (3, 3), (2, 4)]
    assert result[2].families == ("published", "flow_vp")
    assert "Left out: NGBoost (no results on energy, wine)." in result[1].omissions
    assert "Left out: naval (no results of DiffGBM-score-flex)." in result[1].omissions


def test_data_sets_not_in_the_paper_are_shown_but_not_averaged():
    results = results_of([line(d, f) for d in ("yacht", "bimodal") for f in THREE])
    (block,) = blocks(results, THREE)
    assert block.data_sets == ("yacht",)
    assert "bimodal" in [row[0] for row in table_of(per_data_set.crps_page(results)).rows]


def test_lines_without_a_finite_crps_are_missing_and_named():
    lines = [line("yacht", f) for f in THREE] + [line("yacht", "card", crps=math.nan), line("yacht", "ibug")]
    lines[-1]["metrics"]["crps"] = None
    results = results_of([json.loads(json.dumps(record)) for record in lines])
    assert results.families() == THREE
    notes = " ".join(table_of(budget.page(results)).notes)
    assert "CARD-style diffusion on yacht fold 1" in notes
    assert "iBUG on yacht fold 1" in notes


# aggregate pages


def headline_lines():
    """Two data sets, three families; CRPS 1, 2, 4 and 3, 3, 6; CRPSS 0.9, 0.8, 0.6 and 0.7, 0.7, 0.4."""
    out = []
    for data_set, crps in (("yacht", (1.0, 2.0, 4.0)), ("energy", (3.0, 3.0, 6.0))):
        out += [
            line(data_set, f, fold, crps=c, pit_ks_p=0.2 if fold == 1 else 0.01, coverage_error_90=c / 100)
            for f, c in zip(THREE, crps, strict=True)
            for fold in (1, 2)
        ]
    return out


def test_headline_by_hand_with_the_papers_numbers_beside():
    table = table_of(aggregates.page(results_of(headline_lines()), SPECS[0]))
    name, crpss, relative, ks, _, ce_90, _ = entries(table, "DiffGBM-FM")
    assert name == "DiffGBM-FM"
    assert (crpss.value, crpss.paper) == (pytest.approx(0.5), 0.707)
    assert (relative.value, relative.paper) == (pytest.approx((4 / 1 + 6 / 3) / 2), 1.334)
    assert (ks.value, ks.paper) == (0.5, 0.45)
    assert ce_90.value == pytest.approx(0.05)
    assert "| Treeffuser-published | **0.800** (0.699) | **1.000** (1.248) |" in markdown(Page("p", "P", (table,)))
    # the paper's CRPSS of yacht and energy
    notes = " ".join(table.notes)
    assert f"(tab:per-dataset): Published {(0.939 + 0.959) / 2:.3f}, Score-flex {(0.945 + 0.965) / 2:.3f}, FM " in notes
    assert "7/40" in notes
    assert "limit of a study: 10 minutes" in notes
    assert "folds 1, 2" in notes
    assert "20 test rows a fold; 200 samples; 1 thread." in notes


def test_timing_leaves_ct_slices_out():
    lines = [
        line(d, f, fit_seconds=t, sample_seconds=1.0) for d, t in (("yacht", 2.0), ("ct_slices", 900.0)) for f in THREE
    ]
    table = table_of(aggregates.page(results_of(lines), SPECS[1]))
    assert [entry.value for entry in entries(table, "DiffGBM-FM")[1:]] == [2.0, 1.0, 3.0]
    assert [entry.paper for entry in entries(table, "DiffGBM-FM")[1:]] == [25.84, 35.46, 61.30]


def test_competitors_are_sorted_by_skill_and_a_missing_metric_is_a_dash():
    lines = headline_lines()
    for record in lines:
        if record["family"] == "flow_vp":
            del record["metrics"]["dss"]
    table = table_of(aggregates.page(results_of(lines), SPECS[2]))
    assert [row[0] for row in table.rows] == ["Treeffuser-published", "DiffGBM-score-flex", "DiffGBM-FM"]
    assert math.isnan(entries(table, "DiffGBM-FM")[4].value)
    assert "| — (-0.178) |" in markdown(Page("p", "P", (table,)))


def test_rows_and_samples_that_differ_are_named():
    lines = [line("yacht", "published"), line("yacht", "flow_vp", n_test=21), line("energy", "published", n_train=500)]
    assert notes.budget(results_of(lines).cells)[1:] == [
        "Not all test rows were scored on energy (fold 1: 20 of about 100).",
        "Families differ in test rows or in samples on yacht: their scores are not comparable.",
    ]
    assert notes.budget(results_of(lines[:1]).cells)[1:] == []


# pages by data set


def test_per_data_set_marks_the_best_along_the_row_and_dashes_the_missing():
    lines = [line("yacht", "published", crpss=0.91), line("yacht", "score_flex_sde", crpss=0.95)]
    lines += [line("energy", f, crpss=s) for f, s in zip(THREE, (0.5, 0.6, 0.6), strict=True)]
    table = table_of(per_data_set.crpss_page(results_of(lines)))
    text = markdown(Page("p", "P", (table,)))
    assert "| yacht | 100 (256) | 0.910 (0.939) | **0.950** (0.945) | — (0.964) |" in text
    assert "| energy | 100 (640) | 0.500 (0.959) | **0.600** (0.965) | **0.600** (0.965) |" in text
    assert "Not run: QReg, CatBoost, NGBoost, Ensemble, iBUG, CARD." in table.notes


def test_training_rows_of_the_paper_are_shown_only_where_ours_differ():
    lines = [line("yacht", f, fold, n_train=n) for f in THREE for fold, n in ((1, 256), (2, 257))]
    table = table_of(per_data_set.crpss_page(results_of(lines)))
    assert entries(table, "yacht")[1] == Number(256.5, None)


def test_extended_margin_is_second_over_best():
    lines = [line("yacht", f, crps=c) for f, c in zip(THREE, (1.5, 1.0, 1.25), strict=True)] + [line("wine", "flow_vp")]
    table = table_of(per_data_set.extended_page(results_of(lines)))
    assert entries(table, "yacht")[1] == "Score-flex +25.0% (FM +50.0%)"
    assert entries(table, "wine")[1] == "— (Score-flex +5.9%)"
    text = markdown(Page("p", "P", (table,)))
    assert "| 1.50 (0.447) | **1.00** (0.404) | 1.25 (0.269) |" in text


# ranks and sizes


def test_ranks_page_by_hand():
    page = ranks.page(results_of(headline_lines()))
    table = page.tables[0]
    assert [row[0] for row in table.rows] == ["Treeffuser-published", "DiffGBM-score-flex", "DiffGBM-FM"]
    # CRPS 1, 2, 4 and 3, 3, 6
    assert [row[1].value for row in table.rows] == [1.25, 1.75, 3.0]
    first = table.rows[0]
    assert (first[2].value, first[2].error) == (pytest.approx(0.8), pytest.approx(0.1))
    assert (first[2].paper, first[2].paper_error) == (0.699, 0.081)
    assert [row[4].value for row in table.rows] == [2.0, 2.0, 2.0]
    assert "| **0.800** ± 0.100 (0.699 ± 0.081) |" in markdown(page)
    notes = " ".join(table.notes)
    assert "3 families, 2 data sets" in notes
    assert "(paper, 9 and 11: 32.1, p < 0.001)" in notes
    assert [t.name for t in page.tables] == ["ranks", "nemenyi", "wilcoxon"]


def test_paired_rows_have_wins_statistic_and_p_beside_the_papers():
    lines = [line(d, "published", crps=2.0) for d in ("yacht", "energy", "wine")]
    lines += [line(d, "score_flex_sde", crps=c) for d, c in (("yacht", 1.0), ("energy", 1.2), ("wine", 1.9))]
    lines += [line("yacht", "flow_trig", crps=3.0)]
    table = ranks.page(results_of(lines)).tables[-1]
    row = entries(table, "DiffGBM-score-flex")
    assert row[1:4] == (Number(3), "3/0 (11/0)", Number(0.0, 0.0))
    assert (row[4].value, row[4].paper) == (pytest.approx(1 / 8), 4.9e-4)
    assert entries(table, "DiffGBM-FM trig")[2] == "0/1"
    assert "DiffGBM-FM left out: no results beside the published row's." in table.notes


def test_two_families_or_one_data_set_are_ranked_but_not_tested():
    page = ranks.page(results_of([line("yacht", f) for f in THREE]))
    assert [t.name for t in page.tables] == ["ranks", "wilcoxon"]
    assert any("not computed" in note for note in page.tables[0].notes)
    assert page.tables[0].rows[0][1].value == 2.0


def test_sizes_group_by_training_rows():
    sets = (("yacht", 1000, 0.9), ("energy", 10, 0.5), ("wine", 1001, 0.3), ("protein", 10_001, 0.2))
    lines = [line(d, f, n_train=n, crpss=s) for d, n, s in sets for f in THREE]
    table = table_of(sizes.page(results_of(lines)))
    assert [column.header for column in table.columns[1:]] == ["small (2)", "medium (1)", "large (1)"]
    result = entries(table, "DiffGBM-score-flex")[1:]
    assert [entry.value for entry in result] == pytest.approx([0.7, 0.3, 0.2])
    assert [entry.paper for entry in result] == [0.728, 0.710, 0.742]


# budget


def config(family, **changes):
    base = {"data_set": "yacht", "params": {"depth": 3}, "validation_crps": 1.0, "n_trials_target": 40}
    base |= {"n_trials_finite": 7, "n_trials_failed": 1, "budget": {"trials": None, "minutes": 10.0}, "seconds": 90.0}
    return configs.Config(**{**base, "family": family, "versions": {}, "commit": "c", "source_hash": "abc", **changes})


def test_budget_counts_minutes_and_names_superseded_lines_and_mixed_sources():
    lines = [line("yacht", "published"), line("yacht", "flow_vp", source_hash="other"), line("wine", "flow_vp")]
    results = results_of(lines, [config("published"), config("flow_vp", params={"depth": 4}, seconds=30.0)])
    table = table_of(budget.page(results))
    assert entries(table, "Treeffuser-published")[3:7] == ("7/40", "1", "10 minutes", Number(1.5))
    assert entries(table, "DiffGBM-FM")[1:3] == ("2", "2")
    notes = " ".join(table.notes)
    assert "another configuration than the selected one: DiffGBM-FM on yacht." in notes
    assert "2 versions of the source tree" in notes
    trials = budget.page(results).tables[1]
    assert trials.rows == (("yacht", "7/40", "7/40"), ("wine", "—", "7/40"))


# values and rendering


def test_the_best_is_marked_as_printed_and_never_alone():
    columns = (Column("a"), Column("b", fixed(2), "min"), Column("c", fixed(2), "max"), Column("d", fixed(2), "min"))
    rows = (
        ("x", Number(1.001), Number(1.0), Number(5.0)),
        ("y", Number(1.002), Number(2.0), Number(math.nan)),
        ("z", Number(1.2), Number(math.nan), Number(math.nan)),
    )
    assert best_cells(Table("t", "T", columns, rows)) == {(0, 1), (1, 1), (1, 2)}


def test_a_row_of_the_wrong_length_is_refused():
    with pytest.raises(ValueError, match=r"t: rows \[1\] do not have 1 entries"):
        Table("t", "T", (Column("a"),), (("x",), ("x", "y")))


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.000129, "0.000129"), (33.98, "34.0"), (1290.6, "1291"), (0.0, "0"), (-0.0567, "-0.0567"), (1.68e7, "1.68e+07")],
)
def test_significant_digits_are_never_powers_of_ten_below_a_million(value, text):
    assert significant(3)(value) == text


def test_latex_escapes_what_latex_reads():
    assert escape_latex("50% of a_b & c#1 {x} ~ ^ $ \\") == (
        r"50\% of a\_b \& c\#1 \{x\} \textasciitilde{} \textasciicircum{} \$ \textbackslash{}"
    )
    assert escape_latex("|cE|@90 ↓, χ² < 1 ± 2, folds 1-5, score-flex") == (
        r"$|$cE$|$@90 $\downarrow$, $\chi$$^2$ $<$ 1 $\pm$ 2, folds 1--5, score-flex"
    )
    assert escape_latex("run `python -m a_b`") == r"run \texttt{python -m a\_b}"


def test_latex_table_has_groups_rules_bold_and_escaped_notes():
    columns = (Column("Data set", align="l"), Column("A", fixed(1), "min", "g_1"), Column("B", fixed(1), "min", "g_1"))
    rows = (("power_plant", Number(-1.0, 1.68e7), Number(2.0, error=0.5)), ("x", Number(math.nan), Number(1.0, -3.0)))
    text = latex(Page("p", "P", (Table("a_b", "50%", columns, rows, ("a_b",), "rows", (1,)),)))
    assert r"\caption{50\%.}\label{tab:a-b}" in text
    assert "    " + r" & \multicolumn{2}{c}{g\_1} \\" + "\n    " + r"\cmidrule(lr){2-3}" in text
    assert r"power\_plant & \textbf{$-$1.0} ($1.68\times10^{7}$) & 2.0 $\pm$ 0.5 \\" + "\n    " + r"\midrule" in text
    assert r"x & --- & 1.0 ($-$3.0) \\" + "\n    " + r"\bottomrule" in text
    assert r"  a\_b" + "\n" in text
    assert r"\begin{tabular}{lrr}" in text


def test_markdown_bars_do_not_break_the_table():
    table = Table("t", "T", (Column("|cE|"), Column("b")), (("a|b", "c_d*"),))
    assert markdown(Page("p", "T", (table,))) == "# T\n\n| \\|cE\\| | b |\n| ---: | ---: |\n| a\\|b | c\\_d\\* |\n"


def test_numbers_of_the_paper_keep_their_digits():
    table = Table("t", "T", (Column("a", significant(2)),), ((Number(1.234, 1290.6),),))
    assert "| 1.2 (1290.6) |" in markdown(Page("p", "T", (table,)))


def test_numbers_as_ranges():
    assert numbers([5, 1, 2, 3, 3]) == "1-3, 5"
    assert numbers([1, 2]) == "1, 2"


def test_every_aggregate_column_exists_in_its_paper_table():
    for spec in SPECS:
        assert isinstance(spec, Spec)
        if spec.paper:
            assert [item.key for item in spec.items] == list(spec.paper.columns)
            assert set(spec.families) == {name for name, _ in spec.paper.rows}


# files


def written(tmp_path, lines, selected=()):
    (tmp_path / "evaluation.jsonl").write_text("\n".join(json.dumps(record) for record in lines), encoding="utf-8")
    for chosen in selected:
        configs.write(tmp_path / "configs" / f"{chosen.data_set}__{chosen.family}.yaml", chosen)
    return tmp_path


def test_no_file_and_no_lines_say_what_to_do(tmp_path, capsys):
    with pytest.raises(NoResults, match=r"there is no .*evaluation\.jsonl\. Run `python -m benchmarks evaluate`"):
        write_tables(tmp_path)
    with pytest.raises(NoResults, match="has no evaluation lines"):
        write_tables(written(tmp_path, []))
    with pytest.raises(NoResults, match="none of the 1 lines"):
        write_tables(written(tmp_path, [line("yacht", "card", crps=math.nan)]))
    assert not (tmp_path / "tables").exists()
    assert main(["tables", "--results-dir", str(tmp_path / "nowhere")]) == 1
    assert "there is no" in capsys.readouterr().err


def test_the_last_line_of_a_key_counts_and_torn_lines_do_not(tmp_path):
    lines = [line("yacht", "published", crps=9.0), line("yacht", "published", crps=1.0)]
    path = written(tmp_path, lines, [config("published")]) / "evaluation.jsonl"
    with path.open("a", encoding="utf-8") as file:
        file.write('\n{"data_set": "yac')
    results = read_results(tmp_path)
    assert [cell.metric("crps") for cell in results.cells] == [1.0]
    assert results.configs == (config("published"),)


def test_everything_is_written_and_again_the_same(tmp_path):
    lines = [
        line(d, f, fold, crps=1.0 + 0.1 * i + 0.01 * j)
        for i, f in enumerate(HEADLINE)
        for j, d in enumerate(("yacht", "energy", "wine"))
        for fold in (1, 2)
        if (d, f) != ("wine", "card")
    ]
    stale = tmp_path / "tables" / "critical_difference_3.png"
    stale.parent.mkdir()
    stale.touch()
    paths = write_tables(written(tmp_path, lines, [config(f) for f in HEADLINE]))
    names = {path.name for path in paths}
    assert {"headline.md", "headline.tex", "ranks.md", "sizes.tex", "relative_crps.pdf", "README.md"} <= names
    assert {"critical_difference.png", "critical_difference_2.png", "critical_difference_2.pdf"} <= names
    before = {path: path.read_bytes() for path in paths}
    assert all(before.values())
    assert {path: path.read_bytes() for path in write_tables(tmp_path)} == before
    index = (tmp_path / "tables" / "README.md").read_text(encoding="utf-8")
    assert all(f"({name})" in index for name in names - {"README.md"} if not name.endswith(".pdf"))
    assert not stale.exists()


def test_one_line_is_enough_for_the_tables_that_need_no_comparison(tmp_path):
    paths = write_tables(written(tmp_path, [line("yacht", "published")]))
    assert not [path for path in paths if path.suffix == ".png"]
    assert "| yacht |" in (tmp_path / "tables" / "per_data_set.md").read_text(encoding="utf-8")


def test_the_diagram_shows_every_family_and_joins_what_is_not_told_apart():
    lines = [
        line(d, f, crps=1.0 + i)
        for i, f in enumerate(HEADLINE)
        for d in ("yacht", "energy", "wine", "naval", "protein")
    ]
    (block,) = blocks(results_of(lines), HEADLINE)
    figure = figures.critical_difference_diagram(block)
    texts = " ".join(text.get_text() for text in figure.axes[0].texts)
    assert "Treeffuser-published  1.00 (4.18)" in texts
    assert "9.00 (6.73)  CARD-style diffusion" in texts
    assert "critical difference 5.37 at 0.05 (paper: 3.62)" in texts
    # ranks 1 to 9 within 5.37: four runs of six
    bars = [chosen for chosen in figure.axes[0].lines if chosen.get_linewidth() == 3.5]
    assert [np.round(bar.get_xdata(), 2).tolist() for bar in bars] == [
        [0.94, 6.06],
        [1.94, 7.06],
        [2.94, 8.06],
        [3.94, 9.06],
    ]


def test_the_dot_plot_divides_by_the_best_and_leaves_gaps():
    lines = [line("yacht", f, crps=c) for f, c in zip(THREE, (2.0, 1.0, 3.0), strict=True)]
    lines += [line("wine", "published", crps=4.0), line("wine", "flow_vp", crps=5.0)]
    ax = figures.relative_crps_dots(rows_of(results_of(lines), HEADLINE)).axes[0]
    dots = {dot.get_label(): dot.get_offsets() for dot in ax.collections if not dot.get_label().startswith("_")}
    assert set(dots) == {"Treeffuser-published", "DiffGBM-score-flex", "DiffGBM-FM"}
    assert dots["Treeffuser-published"][:, 0].tolist() == [2.0, 1.0]
    assert dots["DiffGBM-FM"][:, 0].tolist() == [3.0, 1.25]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["yacht *", "wine *"]
