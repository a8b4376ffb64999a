"""Figures that are reproduced: what a command runs, draws, checks and writes."""

from pathlib import Path

import polars as pl

from conftest import LOSING, command_line, edited


def test_reproduce_runs_draws_checks_and_writes_a_page(tiny: Path) -> None:
    listed = command_line("reproduce")
    assert "someone/fig1" in listed.stdout
    assert "small, paper" in listed.stdout
    outcome = command_line("reproduce", "someone", "--scale", "paper", "--markdown", "papers/someone/RESULTS.md")
    assert outcome.exit_code == 0, outcome.output
    for words in ("Incasts finish as soon", "not later", "1 reached"):
        assert words in outcome.stdout
    page = Path("papers/someone/RESULTS.md").read_text()
    assert "| Incasts finish as soon | not later |" in page
    assert "![fig1-1](../../results/someone-paper/fig1-1.svg)" in page
    assert "Incasts (in %):\n\n| bytes | mean |\n|---|---|\n| 10 | " in page
    assert "Incasts" in outcome.stdout
    assert "Scale paper; seeds 1; 4 runs" in page
    assert "of CPU time: 4 completed; 0 packets dropped, 0 flows unfinished." in page
    assert "4 completed" in outcome.stdout
    assert Path("results/someone-paper/fig1-1.svg").read_text().startswith("<svg")
    swept = command_line("sweep", tiny, "--scale", "paper", "-o", "table.parquet")
    assert swept.exit_code == 0
    frame = pl.read_parquet("table.parquet")
    assert frame.columns[:6] == ["scheme", "bytes", "seed", "outcome", "cpu_seconds", "directory"]
    assert frame["mean"].null_count() == 0


def test_a_file_may_be_about_several_figures(tiny: Path) -> None:
    tiny.rename(tiny.with_name("fig3-5.toml"))
    for target in ("someone/fig3-5", "someone/fig3", "someone/fig4", "someone/fig5"):
        assert command_line("reproduce", target, "--scale", "paper").exit_code == 0
    for target in ("someone/fig2", "someone/fig6", "someone/tab4"):
        assert command_line("reproduce", target, "--scale", "paper").exit_code == 2


def test_a_claim_without_a_result_is_told_from_one_without_a_reason(tiny: Path) -> None:
    edited(tiny, ('flow_control = { kind = "pfc" }', LOSING), ("at_most = 1.5", "at_most = 0.001"))
    command_line("reproduce", "someone", "--scale", "paper", "--markdown", "page.md")
    assert "| – | no result: no baseline at PFC, 10, seed 1 |" in Path("page.md").read_text()
    edited(tiny, (LOSING, 'flow_control = { kind = "pfc" }'))
    command_line("reproduce", "someone", "--scale", "paper", "--markdown", "page.md")
    assert "No reason found yet." in Path("page.md").read_text()
