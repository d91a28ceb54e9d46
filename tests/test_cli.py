from __future__ import annotations

import contextlib
import errno
import inspect
import json
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import click
import polars as pl
import pytest
from click.testing import CliRunner

import veracity
from veracity.algorithms import CATALOGUE, algorithms
from veracity.algorithms.catalogue import Entry
from veracity.cli import main
from veracity.cli.options import KIND_NAMES, use_threads
from veracity.errors import UnreadableFile
from veracity.fit.fitted import Fitted
from veracity.reading.options import ReadArguments
from veracity.reading.roles import KINDS
from veracity.show.sections import Section, Table
from veracity.show.terminal import print_json, show_sections

CLAIMS = "source,entity,value\na,x,1\nb,x,1\nc,x,2\n"
BINARY = "source,fact,claim\na,f,yes\nb,f,no\nc,f,no\n"
COMMANDS = tuple(main.commands)
HEAVY = {"polars", "numpy", "numba", "rich", "pandas", "pyarrow"}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty folder to work in, with two files of claims."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")  # for the programs we start: no time to compile
    (tmp_path / "claims.csv").write_text(CLAIMS)
    (tmp_path / "binary.csv").write_text(BINARY)
    return tmp_path


def run(*arguments, code=0):
    """What a command prints, on stdout and stderr together."""
    # Numba, loaded and told within one process that it is not to compile, does so by halves.
    here = CliRunner(env={"NUMBA_DISABLE_JIT": None})
    result = here.invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    return result.output


def vote(*arguments, code=0):
    return run("discover", *arguments, "--algorithm", "majority-vote", code=code)


def python(script):
    """A Python of its own that runs a script."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    command = [sys.executable, "-B", "-c", script]  # what is compiled may not fit, either
    return subprocess.Popen(command, text=True, **pipes)


def program(*arguments, **options):
    """A veracity of its own, as a user starts it."""
    command = [sys.executable, "-m", "veracity", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def assert_refused(output, complaint):
    """One sentence, and nothing written."""
    (sentence,) = output.splitlines()
    assert sentence.startswith("error: ")
    assert re.search(complaint, sentence), sentence
    assert not Path("run").exists()


# --- help ----------------------------------------------------------------------------------------


def test_the_names_that_are_written_out_are_the_names_there_are():
    listed = re.search(r"Thereare(.+?)\.", "".join(run("discover", "--help").split()))[1]
    assert set(listed.split(",")) == set(CATALOGUE)
    assert KIND_NAMES == KINDS


@pytest.mark.parametrize("command", [(), *((command,) for command in COMMANDS)])
def test_help_shows_an_example_on_a_line_of_its_own_that_can_be_typed(command):
    lines = run(*command, "--help").splitlines()
    example = lines[lines.index("  Example:") + 1].split()
    assert example[: 1 + len(command)] == ["veracity", *command]
    name, *arguments = example[1:]
    main.commands[name].make_context(name, arguments)  # raises where it cannot be typed


@pytest.mark.parametrize("command", COMMANDS)
def test_help_explains_every_option(command):
    for option in main.commands[command].params:
        assert isinstance(option, click.Argument) or option.help, option.name


def test_help_lists_every_command_with_a_whole_sentence():
    listed = run("--help").split("Commands:\n")[1].splitlines()[: len(COMMANDS)]
    assert [line.split()[0] for line in listed] == list(COMMANDS)
    assert all(line.endswith(".") and not line.endswith("...") for line in listed)


@pytest.mark.parametrize(
    "statement",
    [
        "import veracity",
        "from veracity.cli import main; main(['--help'])",
        "from veracity.cli import main; main(['discover', '--help'])",
        "from veracity.cli import main; main(['--version'])",
    ],
)
def test_no_heavy_library_is_loaded_before_it_is_needed(statement):
    script = f"""
import atexit, sys
atexit.register(lambda: print("loaded:", *({HEAVY} & sys.modules.keys()), file=sys.stderr))
{statement}
"""
    assert python(script).communicate()[1].split() == ["loaded:"]


def test_python_m_veracity_is_the_command():
    assert program("--version").stdout == f"veracity, version {veracity.__version__}\n"


# --- usage ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ["fly"],
        ["discover"],
        ["discover", "claims.csv", "--fast"],
        ["discover", "claims.csv", "--algorithm", "guess"],
        ["discover", "claims.csv", "--kind", "mood"],
        ["discover", "claims.csv", "--set", "seed=-1"],
        ["discover", "claims.csv", "--threads", "0"],
        ["discover", "claims.csv", "--min-plausibility", "2"],
        ["discover", "claims.csv", "--min-plausibility", "nan"],
        ["discover", "claims.csv", "--encoding", "klingon"],
        ["discover", "claims.csv", "--columns", "source"],
        ["discover", "claims.csv", "--columns", "source="],
        ["discover", "claims.csv", "--columns", "source=entity,source=value"],
        ["discover", "claims.csv", "--columns", "source=value,entity=value"],
        ["discover", "claims.csv", "--columns", "sauce=value"],
        ["discover", "claims.csv", "--prior", "claims.csv", "--algorithm", "majority-vote"],
        ["evaluate", "run"],
        ["generate"],
        ["generate", "--out", "run", "--set", "values=1"],
        ["generate", "--out", "run", "--set", "accuracy=nan"],
    ],
    ids=" ".join,
)
def test_bad_usage_exits_with_2_and_writes_nothing(folder, arguments):
    output = run(*arguments, code=2)
    assert "Traceback" not in output
    assert sorted(path.name for path in folder.iterdir()) == ["binary.csv", "claims.csv"]


# --- discover and evaluate -----------------------------------------------------------------------


def test_what_discover_writes_can_be_loaded():
    output = vote("claims.csv", "--out", "runs/first")
    files = sorted(path.name for path in Path("runs/first").iterdir())
    assert f"written to runs/first: {', '.join(files)}" in output
    loaded = veracity.load("runs/first")
    assert loaded.truths["value"].to_list() == ["1"]
    assert loaded.run.input.origin == "claims.csv"
    assert [path.name for path in Path("runs").iterdir()] == ["first"]


@pytest.mark.parametrize("algorithm", sorted(CATALOGUE))
def test_every_algorithm_can_be_run(algorithm):
    kind = CATALOGUE[algorithm].make().kinds[0]
    settings = ("--algorithm", algorithm, "--kind", kind)
    assert "sources, those with most claims first" in run("discover", "claims.csv", *settings)


def test_options_reach_the_work(folder):
    (folder / "odd.csv").write_bytes("who;what;is\né;x;1\nb;x;2\n".encode("latin-1"))
    (folder / "prior.csv").write_text("source,tpr,fpr\né,0.9,0.1\n")
    columns = ("--columns", "source=who, entity=what, value=is", "--encoding", "latin-1")
    settings = (
        "--algorithm",
        "ltd-rbm",
        "--set",
        "seed=7",
        "--threads",
        "1",
        "--min-plausibility",
        "0.99",
    )
    told = json.loads(
        run("discover", "odd.csv", *columns, *settings, "--prior", "prior.csv", "--json")
    )
    assert told["parameters"]["seed"] == 7
    assert told["min_plausibility"] == 0.99
    assert told["parameters"]["prior"]["of_source"]["é"]["tpr"] == 0.9
    assert told["input"]["sources"] == 2


@pytest.mark.parametrize("content", [b"PAR1", b"PAR1" + b"x" * 100 + b"PAR1"])
def test_a_damaged_prior_is_told(folder, content):
    (folder / "prior.parquet").write_bytes(content)
    told = run("discover", "claims.csv", "--prior", "prior.parquet", code=1)
    assert told.startswith("error: prior.parquet: damaged or cut off")


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (OSError(errno.EACCES, "Permission denied", "claims.csv"), "claims.csv: Permission denied"),
        (EOFError("cut off"), "what was read ended too soon"),
        (KeyboardInterrupt(), "stopped before the end"),
    ],
)
def test_an_error_of_the_system_is_called_what_it_is(folder, monkeypatch, error, sentence):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr("veracity.api.local_claims.open_claims", fail)
    assert f"error: {sentence}" in vote("claims.csv", code=1)


def test_a_comma_in_the_name_of_a_column_can_be_quoted(folder):
    (folder / "odd.csv").write_text('"who, really",entity,value\na,x,1\n')
    vote("odd.csv", "--columns", '"source=who, really",value=value')


def test_kinds_can_be_chosen():
    assert json.loads(vote("binary.csv", "--kind", "binary", "--json"))["kind"] == "binary"
    assert json.loads(vote("claims.csv", "--kind", "multiple", "--json"))["kind"] == "multiple"


@pytest.mark.parametrize(
    ("claims", "kind", "truth"),
    [
        ("claims.csv", "categorical", "entity,value\nx,1\n"),
        ("claims.csv", "multiple", "entity,value\nx,1\n"),
        ("binary.csv", "binary", "fact,claim\nf,no\n"),
    ],
)
def test_evaluate_compares_a_run_with_truths(folder, claims, kind, truth):
    vote(claims, "--kind", kind, "--out", "run")
    (folder / "truth.csv").write_text(truth)
    assert json.loads(run("evaluate", "run", "truth.csv", "--json"))["accuracy"] == 1.0
    assert "against known truths" in run("evaluate", "run", "truth.csv")


def test_evaluate_shows_attributes_of_any_type():
    claims = pl.DataFrame({"source": "a", "entity": "x", "attribute": [1, 2], "value": ["u", "v"]})
    claims.write_parquet("claims.parquet")
    vote("claims.parquet", "--out", "run")
    output = run("evaluate", "run", "claims.parquet")
    assert re.search(r"│ all .*\n│ 1 .*\n│ 2 ", output)


def test_generate_writes_claims_that_can_be_discovered_and_evaluated():
    settings = ("--set", "sources=5", "--set", "items=20", "--set", "seed=1")
    run("generate", *settings, "--out", "synthetic")
    vote("synthetic/claims.parquet", "--out", "run")
    assert json.loads(run("evaluate", "run", "synthetic/truth.parquet", "--json"))["judged"] > 0


def test_the_same_seed_generates_the_same_claims():
    for out, seed in (("one", 1), ("same", 1), ("other", 2)):
        run("generate", "--set", "items=20", "--set", f"seed={seed}", "--out", out)
    one, same, other = (pl.read_parquet(f"{x}/claims.parquet") for x in ("one", "same", "other"))
    assert one.equals(same)
    assert not one.equals(other)


def test_demo_beats_the_vote_and_writes_its_result():
    output = run("demo", "--out", "run")
    found = float(re.search(r"│ all +│ +400 │ +(\d\.\d+)", output)[1])
    vote = float(re.search(r"would have been right on (\d+\.\d)%", output)[1]) / 100
    assert found > vote
    assert veracity.load("run").converged


# --- what is shown -------------------------------------------------------------------------------


def no_constants(name):
    raise AssertionError(f"{name} is no JSON")


def test_json_holds_neither_nan_nor_infinity(capsys):
    print_json({"a": float("nan"), "b": [float("inf"), {"c": -float("inf")}], "d": 1.5})
    told = json.loads(capsys.readouterr().out, parse_constant=no_constants)
    assert told == {"a": None, "b": [None, {"c": None}], "d": 1.5}


def test_json_is_ascii_so_that_any_pipe_carries_it(folder):
    (folder / "😀.csv").write_text(CLAIMS)
    output = vote("😀.csv", "--json")
    assert output.isascii()
    assert json.loads(output)["input"]["origin"] == "😀.csv"


def show_table(rows):
    show_sections([Section(tables=[Table(title="some", rows=rows)])])


def test_names_and_values_are_shown_as_they_are_but_harmless(capsys):
    odd = ["two\nlines", "\x1b[31mred", "[bold]x[/bold]", "nul\0nul", "\u202eevil"]
    show_table(pl.DataFrame({"value": odd}))
    shown = capsys.readouterr().out
    for text in ("two\\nlines", "\\x1b[31mred", "[bold]x[/bold]", "nul\\x00nul", "\\u202eevil"):
        assert text in shown


def test_numbers_that_are_values_are_shown_as_given_and_counts_with_commas(capsys):
    table = pl.DataFrame({"entity": [1007], "value": [2.123456], "claims": [12345], "tpr": [0.5]})
    show_table(table)
    assert re.search(r"│ +1007 │ 2.123456 │ 12,345 │ 0.500 │", capsys.readouterr().out)


def test_false_is_shown_as_a_value_but_not_as_a_mark(capsys):
    show_table(pl.DataFrame({"value": [False], "contested": [False], "tied": [True]}))
    assert re.search(r"│ false │ +│ yes +│", capsys.readouterr().out)


def test_a_terminal_that_knows_no_emoji_gets_them_spelt_out(folder):
    (folder / "claims.csv").write_text("source,entity,value\na,x,😀\n")
    done = program(
        "discover", "claims.csv", "--algorithm", "majority-vote",
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )  # fmt: skip
    assert done.returncode == 0
    assert "\\U0001f600" in done.stdout


@pytest.fixture
def theirs(monkeypatch):
    """The algorithm of another package."""
    entry = SimpleNamespace(
        name="their-own", value="veracity.algorithms.majority_vote:MajorityVote"
    )
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [entry])
    algorithms.cache_clear()
    yield entry.name
    algorithms.cache_clear()


def test_an_algorithm_of_another_package_is_listed_and_taken(theirs):
    assert "their-own" in " ".join(run("discover", "--help").split()).replace("- ", "-")
    assert json.loads(run("discover", "claims.csv", "--algorithm", theirs, "--json"))
    assert "did you mean 'their-own'?" in run(
        "discover", "claims.csv", "--algorithm", "theirown", code=2
    )


def test_a_run_that_did_not_converge_says_so_in_its_findings_and_nowhere_else(monkeypatch):
    hasty = Entry(CATALOGUE["ltd-rbm"].place, {"max_rounds": 2, "tolerance": 1e-15})
    monkeypatch.setitem(CATALOGUE, "ltd-rbm", hasty)
    assert "caution: not-converged: ltd-rbm did not converge in 2 rounds" in run(
        "discover", "claims.csv", "--algorithm", "ltd-rbm"
    )


# --- bad input -----------------------------------------------------------------------------------

BAD_FILES = {
    "empty": (b"", "the file is empty"),
    "encoding": (b"source,entity,value\na,x,\xe4\xe0\n", "byte 0xe4 .* --encoding cp1250"),
    "parquet": (b"PAR1" + 100 * b"\0", "damaged or cut off"),
}
"""Files of each sort; the tests of reading have more of them."""


@pytest.mark.parametrize(("content", "complaint"), BAD_FILES.values(), ids=BAD_FILES)
def test_a_bad_file_gets_one_sentence_and_exit_code_1(folder, content, complaint):
    (folder / "bad.csv").write_bytes(content)
    assert_refused(run("discover", "bad.csv", "--out", "run", code=1), complaint)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["nowhere.csv"], "there is no such file"),
        (["*.parquet"], "no file matches"),
        (["claims.csv", "--columns", "source=website"], "no column 'website', named as the source"),
        (["claims.csv", "--prior", "nowhere.csv"], "nowhere.csv: there is no such file"),
    ],
    ids=str,
)
def test_what_is_not_there_gets_one_sentence_and_exit_code_1(arguments, complaint):
    assert_refused(run("discover", *arguments, "--out", "run", code=1), complaint)


def test_a_claim_neither_true_nor_false_gets_one_sentence(folder):
    (folder / "bad.csv").write_text(BINARY + "d,f,perhaps\n")
    output = run("discover", "bad.csv", "--kind", "binary", "--out", "run", code=1)
    assert_refused(output, "row 4 claims 'perhaps', which is neither true nor false")


@pytest.mark.parametrize(
    ("truth", "complaint"),
    [
        ("entity,price\nx,1\n", "no column 'value' among 'entity', 'price'"),
        ("entity,value\n", "no truths in it"),
    ],
)
def test_truths_that_are_of_no_use_get_one_sentence(folder, truth, complaint):
    vote("claims.csv", "--out", "first")
    (folder / "truth.csv").write_text(truth)
    assert_refused(run("evaluate", "first", "truth.csv", code=1), complaint)


def test_a_folder_that_is_no_run_gets_one_sentence():
    assert_refused(run("evaluate", ".", "claims.csv", code=1), "not the folder of a run")


@pytest.mark.parametrize("name", ["run.json", "facts.parquet"])
def test_a_damaged_run_gets_one_sentence(name):
    vote("claims.csv", "--out", "first")
    (Path("first") / name).write_bytes(b"{")
    assert_refused(run("evaluate", "first", "claims.csv", code=1), "first: ")


# --- output --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [
        ["discover", "claims.csv", "--algorithm", "majority-vote"],
        ["generate", "--set", "items=5"],
        ["demo"],
    ],
    ids=" ".join,
)
def test_a_folder_is_replaced_only_by_force_and_only_if_it_is_ours(command):
    command += ["--out", "first"]
    run(*command)
    assert_refused(run(*command, code=1), "first exists; choose another name, or replace it")
    run(*command, "--force")
    Path("first/thesis.txt").write_text("mine")
    assert_refused(run(*command, "--force", code=1), "veracity did not write 'thesis.txt'")
    assert Path("first/thesis.txt").read_text() == "mine"


def test_claims_and_truths_of_somebody_else_are_not_replaced():
    Path("mine").mkdir()
    for name in ("claims", "truth", "sources"):
        Path(f"mine/{name}.parquet").write_text("years of work")
    assert_refused(run("generate", "--out", "mine", "--force", code=1), "not written by veracity")


def test_a_folder_that_cannot_be_written_is_refused_before_anything_is_read():
    output = run("discover", "nowhere.csv", "--out", "claims.csv/run", code=1)
    assert_refused(output, "cannot write claims.csv/run")


WORK = """
import itertools, resource, signal, sys, time
import polars as pl
import veracity.engines.local as engine
from veracity import api
from veracity.reading import claims
from veracity.encoding import encode
from veracity.cli import main

turns, stopped = itertools.count(), []

def wait(*arguments, **options):
    if next(turns) == 0:  # others may wait in another thread
        print("here", flush=True)
    for _ in range(1200):
        if stopped:
            break
        time.sleep(0.05)

def heed(*signal_and_frame):
    stopped.append(True)
    signal.default_int_handler(*signal_and_frame)

{change}
main(["discover", "claims.csv", "--out", "deep/run"])
"""
"""The command in a program of its own, with something changed to catch it in the act."""


def test_a_full_disk_gets_one_sentence_and_leaves_nothing(folder):
    full = "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))"
    stdout, stderr = python(WORK.format(change=full)).communicate()
    assert_refused(stderr, "cannot write 'deep/run': .*File too large.*; nothing was written")
    assert not stdout
    assert sorted(path.name for path in folder.iterdir()) == ["binary.csv", "claims.csv"]


@pytest.mark.parametrize(
    "where",
    [
        "encode.ClaimNumbers.add",
        "api.tabulate",
        "pl.DataFrame.write_parquet",
    ],
)
def test_ctrl_c_gets_one_sentence_and_leaves_nothing(folder, where):
    heed = "signal.signal(signal.SIGINT, heed)"
    work = python(WORK.format(change=f"{heed}; assert {where}; {where} = wait"))
    assert work.stdout.readline() == "here\n"
    work.send_signal(signal.SIGINT)
    stdout, stderr = work.communicate()
    assert work.returncode == 1
    assert_refused(stderr.strip(), "stopped before the end; no half-written result is left")
    assert not stdout
    assert sorted(path.name for path in folder.iterdir()) == ["binary.csv", "claims.csv"]


def test_a_reader_that_has_seen_enough_is_no_error():
    work = python("from veracity.cli import main; main(['demo'])")
    work.stdout.readline()
    work.stdout.close()
    with work.stderr as stderr:
        assert stderr.read() == ""
    work.wait()


def test_an_algorithm_whose_name_is_nearly_right_is_asked_for(folder):
    for option in ("--algorithm", "--algorithms"):
        command = "discover" if option == "--algorithm" else "compare"
        output = run(command, "claims.csv", option, "Majority_Vote", code=2)
        assert "no algorithm 'Majority_Vote'; did you mean 'majority-vote'?" in output


def test_compare_says_where_all_algorithms_settle_on_the_same(folder):
    told = run("compare", "claims.csv", "--algorithms", "majority-vote,mle")
    assert "all of them settle on the same values" in told
    assert "agree least" not in told


def test_compare_writes_its_table_and_replaces_none_unasked(folder):
    command = ("compare", "claims.csv", "--algorithms", "majority-vote,mle", "--out", "found.csv")
    assert "written to found.csv: the algorithms" in run(*command)
    assert pl.read_csv("found.csv")["algorithm"].to_list() == ["majority-vote", "mle"]
    assert_refused(run(*command, code=1), "found.csv exists; choose another name")
    run(*command, "--force")


@pytest.mark.parametrize("arguments", [["--help"], ["discover", "claims.csv", "--json"]])
def test_output_that_cannot_be_printed_gets_one_sentence(arguments):
    script = f"from veracity.cli import main; main({arguments})"
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", script],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert_refused(done.stderr, "cannot write the output: No space left on device")


def test_a_bar_is_shown_on_a_terminal_and_not_in_a_pipe():
    assert program("discover", "claims.csv").stderr == ""
    terminal, stderr = pty.openpty()
    command = [sys.executable, "-m", "veracity", "discover", "claims.csv"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=stderr) as work:
        os.close(stderr)
        shown = read_all(terminal)
    assert work.returncode == 0
    assert b"reading" in shown


def read_all(terminal):
    """What a terminal shows until the program ends, which Linux tells by an error."""
    shown = b""
    with contextlib.suppress(OSError), os.fdopen(terminal, "rb", buffering=0) as screen:
        while part := screen.read(1000):
            shown += part
    return shown


def test_a_bug_is_called_one_and_shown_in_full_only_on_request(monkeypatch):
    def fail(*arguments, **options):
        raise ZeroDivisionError("two\nlines")

    monkeypatch.setattr("veracity.api.discover", fail)
    output = run("discover", "claims.csv", "--out", "run", code=1)
    assert_refused(output, "this is a bug in veracity: ZeroDivisionError: two lines; please report")
    monkeypatch.setenv("VERACITY_DEBUG", "1")
    result = CliRunner().invoke(main, ["discover", "claims.csv"])
    assert isinstance(result.exception, ZeroDivisionError)


def test_too_little_memory_gets_one_sentence(monkeypatch):
    def fail(*arguments, **options):
        raise MemoryError

    monkeypatch.setattr("veracity.api.local_claims.open_claims", fail)
    assert_refused(run("discover", "claims.csv", code=1), "out of memory")


def test_known_truths_may_have_the_columns_and_the_encoding_of_the_claims(tmp_path):
    claims = "site,flight,gate\na,café,1\nb,café,1\nc,café,2\n"
    (tmp_path / "claims.csv").write_text(claims, encoding="latin-1")
    (tmp_path / "known.csv").write_text("flight,gate\ncafé,2\n", encoding="latin-1")
    arguments = ["discover", str(tmp_path / "claims.csv"), "--known", str(tmp_path / "known.csv")]
    arguments += ["--columns", "source=site,entity=flight,value=gate", "--encoding", "latin-1"]
    result = CliRunner().invoke(main, [*arguments, "--out", str(tmp_path / "run")])
    assert result.exit_code == 0, result.output
    assert veracity.load(tmp_path / "run").truths["value"].to_list() == ["2"]


def test_a_demo_that_is_stopped_at_its_page_leaves_the_earlier_one(monkeypatch):
    run("demo", "--out", "demo")
    before = {path.name: path.stat().st_mtime_ns for path in Path("demo").iterdir()}
    assert "report.html" in before

    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("veracity.show.report.write_report", stop)
    run("demo", "--out", "demo", "--force", code=1)
    assert {path.name: path.stat().st_mtime_ns for path in Path("demo").iterdir()} == before
    assert [path.name for path in Path().glob(".veracity-*")] == []


INTERRUPTED = """
import os, signal
import polars as pl
from veracity.cli import main
import veracity.api
def work(*_, **__):
    try:
        os.kill(os.getpid(), signal.SIGTERM)
    except KeyboardInterrupt:
        raise {made} from None
veracity.api.discover = work
main(["discover", "flights.csv"])
"""


@pytest.mark.parametrize(
    "made", ['RuntimeError("Query interrupted")', 'pl.exceptions.PanicException("interrupted")']
)
def test_what_a_library_makes_of_a_signal_is_no_bug(tmp_path, made):
    (tmp_path / "flights.csv").write_text("source,entity,value\na,x,1\n")
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED.format(made=made)],
        check=False,
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.stderr.strip() == "error: stopped before the end; no half-written result is left"


@pytest.mark.parametrize(
    ("arguments", "code"), [(["discover", "nowhere.csv"], 1), (["discover"], 2)]
)
def test_an_error_that_nobody_can_be_told_of_keeps_its_exit_code(arguments, code):
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-m", "veracity", *arguments]
        assert subprocess.run(command, check=False, stderr=full).returncode == code


WRITING = {
    "discover": ["claims.csv", "--out", "mine.csv"],
    "judge": ["run", "claims.csv", "--out", "mine.csv"],
    "update": ["run", "claims.csv", "--out", "mine.csv"],
    "compare": ["claims.csv", "--out", "mine.csv"],
    "compare figure": ["claims.csv", "--figure", "mine.svg"],
    "ask": ["run", "--out", "mine.csv"],
    "diff": ["run", "run", "--out", "mine.csv"],
    "export": ["run", "mine.csv"],
    "plot": ["run", "sources", "--out", "mine.svg"],
    "report": ["run", "--out", "mine.html"],
    "demo": ["--out", "mine"],
    "generate": ["--out", "mine"],
}


@pytest.mark.parametrize("name", WRITING)
def test_no_command_replaces_what_exists_unless_it_is_forced(name, folder):
    for ending in (".csv", ".svg", ".html"):
        (folder / f"mine{ending}").write_text("mine")
    (folder / "mine").mkdir()
    command = name.partition(" ")[0]
    assert "exists; choose another name, or replace it with" in run(command, *WRITING[name], code=1)
    assert {path.read_text() for path in folder.glob("mine.*")} == {"mine"}
    assert "force" in {option.name for option in main.commands[command].params}


def test_what_is_compared_is_never_replaced(folder):
    told = run("compare", "claims.csv", "--out", "claims.csv", "--force", code=1)
    assert "is, or would be, one of the input files" in told
    assert (folder / "claims.csv").read_text() == CLAIMS


TAKING_THREADS = ("discover", "judge", "update", "compare", "check", "profile", "tune")


def test_all_commands_that_read_claims_take_the_same_of_this_machine():
    own = {"threads", "memory", "spill"}
    taken = {name: own & {one.name for one in main.commands[name].params} for name in COMMANDS}
    assert {name: found for name, found in taken.items() if found} == dict.fromkeys(
        TAKING_THREADS, own
    )


@pytest.mark.parametrize("name", TAKING_THREADS)
def test_threads_are_told_before_polars_is_loaded(name, folder):
    script = (
        "import os, sys, click\n"
        "from veracity.cli import main\n"
        f"name = {name!r}\n"
        "paths = ['run', 'claims.csv'] if name in ('judge', 'update') else ['claims.csv']\n"
        "paths += ['--grid', 'strength=2', '--truth', 'truth.csv'] if name == 'tune' else []\n"
        "main.commands[name].make_context(name, [*paths, '--threads', '1'])\n"
        "print(os.environ['POLARS_MAX_THREADS'], 'polars' in sys.modules)\n"
    )
    told, error = python(script).communicate()
    assert told == "1 False\n", error


def test_no_more_threads_are_started_than_can_work(monkeypatch):
    for name in ("POLARS_MAX_THREADS", "POLARS_ROW_GROUP_PREFETCH_SIZE"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    use_threads(100_000)
    assert int(os.environ["POLARS_MAX_THREADS"]) <= 4 * (os.cpu_count() or 1)


def test_what_is_shown_of_numbers_has_as_many_digits_everywhere_and_no_empty_column(folder):
    rows = "a,x,11.1203354\nb,x,11.12033544\nc,x,11.5\na,y,3\nb,y,4\nc,y,3.3\n"
    (folder / "numbers.csv").write_text(f"source,entity,value\n{rows}")
    run("discover", "numbers.csv", "--kind", "numeric", "--out", "run")
    assert not re.search(r"\d\.\d{10}", run("explain", "run", "x"))
    assert "plausibility" not in run("ask", "run")


def write_claims(folder) -> str:
    rows = [(s, e, "gate", v) for e, said in {"x": "112", "y": "122"}.items()
            for s, v in zip("abc", said, strict=True)]  # fmt: skip
    path = folder / "long.csv"
    pl.DataFrame(rows, schema=["site", "flight", "field", "val"], orient="row").write_csv(path)
    return str(path)


NAMED = "source=site,entity=flight,attribute=field,value=val"


@pytest.mark.parametrize(
    ("header", "option"),
    [
        ("flight,field,is", "value=is"),
        ("nr,field,gold", None),
    ],
)
def test_known_truths_may_have_columns_of_their_own(tmp_path, header, option):
    claims, truth = write_claims(tmp_path), tmp_path / "truth.csv"
    truth.write_text(f"{header}\nx,gate,1\ny,gate,2\n")
    named = ["--columns", NAMED]
    said = [] if option is None else ["--truth-columns", option]
    for words in (
        ["compare", claims, "--truth", truth, "--algorithms", "majority-vote", *named],
        ["profile", claims, "--truth", truth, *named],
        ["check", claims, "--known", truth, *named],
        ["discover", claims, "--known", truth, *named],
    ):
        run(*words, *said)
        if option is not None:
            told = run(*words, code=1)
            assert "--truth-columns value=is" in told, told
            assert "--columns source" not in told


def test_an_address_is_no_folder_of_a_run(tmp_path):
    for words in (["evaluate"], ["report"], ["judge"]):
        more = ["--out", tmp_path / "x.html"] if words == ["report"] else ["truth.csv"]
        told = run(*words, "postgresql://ana:secret@host/db#found", *more, code=1)
        assert "postgresql://ana@host/db: this is an address" in told
        assert "secret" not in told
    with pytest.raises(UnreadableFile, match=r"s3://\.\.\.: this is an address"):
        veracity.load("s3://bucket/run")


def test_formats_of_sources_are_told_on_the_command_line(tmp_path):
    rows = [(s, f"e{n}", a, v) for s, v in (("acme", "2,652"), ("base", "2.652"), ("city", "2.652"))
            for n in range(2) for a in ("weight", "dc:size")]  # fmt: skip
    claims = pl.DataFrame(rows, schema=["source", "entity", "attribute", "value"], orient="row")
    claims.write_csv(tmp_path / "c.csv")
    words = ["discover", tmp_path / "c.csv", "--algorithm", "majority-vote", "--force", "--out"]
    run(*words, tmp_path / "run", "--normalise=weight:acme=comma+kg,dc:size=text")
    found = veracity.load(tmp_path / "run")
    assert found.run.normalisation["sources"] == {"weight": {"acme": "comma, kg"}}
    assert found.run.normalisation["attributes"]["dc:size"] == {"kind": "text"}
    told = run(*words, tmp_path / "run", "--normalise=weight:acme=dots", code=2)
    assert "must be one of comma, point" in told
    told = run(*words, tmp_path / "run", "--normalise=weight:acme=comma,weight=text", code=2)
    assert "gives weight a kind and formats" in told


# --- the same names as in Python ------------------------------------------------------------------

NOT_IN_PYTHON = {
    "paths", "as_json", "out", "force", "figure", "fail_on",  # what is done with the answer
    "settle",  # a method of the fit of the answer
    "parameters", "prior",  # of the algorithm
    "master", "threads", "memory", "spill",  # of the engine
}  # fmt: skip


@pytest.mark.parametrize("command", ["discover", "compare", "check", "profile", "tune", "evaluate"])
def test_options_have_the_names_that_python_has(command):
    python = set(inspect.signature(getattr(veracity, command)).parameters)
    python |= set(ReadArguments.__annotations__) if "options" in python else set()
    named = {one.name for one in main.commands[command].params} - {"run"}
    assert named - NOT_IN_PYTHON <= python


@pytest.mark.parametrize("command", ["judge", "update"])
def test_options_of_a_fit_have_the_names_that_python_has(command):
    python = set(inspect.signature(getattr(Fitted, command)).parameters)
    named = {one.name for one in main.commands[command].params} - {"run"}
    assert named - NOT_IN_PYTHON <= python | set(ReadArguments.__annotations__)


def test_help_lists_options_in_groups():
    lines = run("discover", "--help").splitlines()
    groups = [line for line in lines if re.fullmatch(r"[A-Z]\w+:", line)]
    assert groups == ["Reading:", "Answer:", "Engine:", "Output:", "Options:"]


def test_there_are_few_commands_and_options():
    assert len(main.commands) == 18
    assert sum(len(one.params) for one in main.commands.values()) <= 200
