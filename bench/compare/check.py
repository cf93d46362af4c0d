"""Whether the table shows what it must: `.cache/compare/bin/python bench/compare/check.py` (half a minute).

A wrong exact log Z is planted, a run gets too little time, one gets too little memory, and one fails.
"""

import json
import tempfile
from pathlib import Path

import run
import table

KEY = run.Key("equal modes, d=2", "dynesty", 1, True)


def table_of(*rows: dict[str, object]) -> str:
    """Return the table of these runs, read from a file as the table of a comparison is."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "runs.jsonl")
        # the last line was cut off by a crash
        file.write_text("".join(json.dumps(row) + "\n" for row in rows) + '{"problem": "equal')
        return table.markdown(table.read(file))


def check(name: str, passed: bool) -> None:
    print(f"{'ok    ' if passed else 'FAILED'} {name}", flush=True)
    if not passed:
        raise SystemExit(1)


def main() -> None:
    right = run.run(KEY, 20.0, True, 0.0)
    wrong = run.run(KEY, 20.0, True, 5.0)
    # 4 stated errors: a false alarm of 6e-5
    check("a right answer is not called wrong", "wrong" not in table_of(right))
    check("a planted wrong log Z is called wrong", "**wrong**" in table_of(wrong))
    check("the larger error counts", table.line_of(KEY.problem, KEY.package, [right, wrong]).log_z_error > 3.0)
    known = dict(right, log_z_error=0.2, stated=0.3, seconds=2.0)
    twice = dict(known, seed=2, log_z_error=-0.2)
    line = table.line_of(KEY.problem, KEY.package, [known, twice])
    check("seconds to 0.1 follow the square root law", abs(line.to_goal - 2.0 * 3.0**2) < 1e-9)
    scattered = dict(known, stated=0.01)
    line = table.line_of(KEY.problem, KEY.package, [scattered, dict(scattered, seed=2, log_z_error=-0.2)])
    check("the scatter counts if it is larger than what is stated", abs(line.to_goal - 2.0 * 2.0**2) < 1e-9)
    one_mode = dict(right, weight_error=0.5, ess=100.0)
    check("a lost mode is called wrong", "**wrong**" in table_of(one_mode))
    few = dict(right, weight_error=0.15, ess=8.0)
    check("what few effective draws explain is not called wrong", "wrong" not in table_of(few))
    ended = run.run(KEY, 0.01, True, 0.0)
    check("a run that takes too long is ended", ended["status"] == "ended" and "1 of 1 ended (time)" in table_of(ended))
    run.MEMORY = 2**20
    greedy = run.run(KEY, 20.0, True, 0.0)
    check("a run that takes too much memory is ended", "1 of 1 ended (memory)" in table_of(greedy))
    run.MEMORY = 4 * 2**30
    failed = run.run(run.Key("no such problem", "dynesty", 1, True), 20.0, True, 0.0)
    check("a run that fails is listed", "1 of 1 failed" in table_of(dict(failed, problem=KEY.problem)))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "runs.jsonl")
        file.write_text(json.dumps(right) + "\n" + json.dumps(dict(ended, seed=2)) + "\n")
        check("what is there is not run again", KEY in run.done(file, 300.0))
        check("what was ended early is run again with more time", len(run.done(file, 300.0)) == 1)


if __name__ == "__main__":
    main()
