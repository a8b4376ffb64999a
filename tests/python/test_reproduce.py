"""The command `reproduce`: runs, charts, claims and pages."""

import re
from pathlib import Path

import polars as pl
import pytest

from conftest import LOSING, command_line, edited


def test_reproduce_runs_draws_checks_and_writes_a_page(tiny: Path) -> None:
    listed = command_line("reproduce", output="someone/fig1")
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
    assert re.search(
        r"Charts: results/someone-paper\. Took \d+ s; 4 runs simulated, 0 taken from the store\.", outcome.stdout
    )
    words = " ".join(page.split())
    assert "Scale paper; seed 1; 4 runs" in words
    assert "of CPU time: 4 completed; 0 packets dropped, 0 flows unfinished." in words
    assert "4 completed" in outcome.stdout
    assert Path("results/someone-paper/fig1-1.svg").read_text().startswith("<svg")
    command_line("sweep", tiny, "--scale", "paper", "-o", "table.parquet", code=0)
    frame = pl.read_parquet("table.parquet")
    assert frame.columns[:6] == ["scheme", "bytes", "seed", "outcome", "cpu_seconds", "directory"]
    assert frame["mean"].null_count() == 0


def test_a_file_may_be_about_several_figures(tiny: Path) -> None:
    tiny.rename(tiny.with_name("fig3-5.toml"))
    for target in ("someone/fig3-5", "someone/fig3", "someone/fig4", "someone/fig5"):
        command_line("reproduce", target, "--scale", "paper", code=0)
    for target in ("someone/fig2", "someone/fig6", "someone/tab4"):
        command_line("reproduce", target, "--scale", "paper", code=2)


@pytest.mark.usefixtures("losing")
def test_claims_without_a_result_and_without_a_reason_differ(tiny: Path) -> None:
    edited(tiny, ('flow_control = { kind = "pfc" }', LOSING), ("at_most = 1.5", "at_most = 0.9"))
    command_line("reproduce", "someone", "--scale", "paper", "--markdown", "page.md")
    assert "| – | no result: no baseline at PFC, 10, seed 1 |" in Path("page.md").read_text()
    edited(tiny, (LOSING, 'flow_control = { kind = "pfc" }'))
    command_line("reproduce", "someone", "--scale", "paper", "--markdown", "page.md")
    assert "No reason found yet." in Path("page.md").read_text()
    edited(tiny, ("at_most = 0.9", "at_most = 0.001"))
    command_line("reproduce", "someone", "--scale", "paper", "--markdown", "page.md")
    assert "No reason found yet." not in Path("page.md").read_text()
    assert "1. The claim would not hold even with every flow at its ideal time" in Path("page.md").read_text()


CLAIM = """
[[claims]]
text = "Incasts are {times} times as fast"
paper = "{paper}"
measure = "mean"
at.scheme = "Pyrrha"
to.scheme = "PFC"
compare = "ratio"
at_most = 0.8
reason = "Nothing is paused here, whoever is asked."
"""


def test_claims_of_the_paper_come_first_and_reasons_once(tiny: Path) -> None:
    text = tiny.read_text()
    others = [CLAIM.format(times=times, paper=paper) for times, paper in ((2, "by half"), (3, "no figure; ours"))]
    tiny.write_text(text + "".join(others))
    command_line("reproduce", "someone", "--scale", "paper", "--markdown", "page.md")
    page = Path("page.md").read_text()
    of_paper, of_ours, reasons = (
        page.partition(f"## {heading}")[2].partition("\n## ")[0]
        for heading in ("Claims of the paper", "Our own claims", "Reasons")
    )
    assert "2 claims: 1 reached; 1 not reached." in of_paper
    assert "1 claim: 1 not reached." in of_ours
    assert "Incasts are 2 times" in of_paper
    assert "Incasts are 3 times" in of_ours
    assert "| not reached | [1](#reasons) |" in of_paper
    assert "| not reached | [1](#reasons) |" in of_ours
    assert reasons.strip() == "1. Nothing is paused here, whoever is asked."
