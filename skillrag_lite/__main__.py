"""The command line: python -m skillrag_lite ask | weights | convert | record | run."""

import argparse
import sys

from . import data, profiles
from .profiles import PROFILES

DEMO = (  # picked to show three paths: from memory, after one search, after a new query
    "where is the eiffel tower located",
    "which country was oscar wilde from",
    "To which continent does Japan belong?",
)


def main(arguments: list[str] | None = None) -> int:
    """Run one command; a mistake of the user's ends in one sentence and status 1."""
    parser = argparse.ArgumentParser(prog="python -m skillrag_lite", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, help_ in (
        ("ask", "answer a question and show the trace"),
        ("weights", "fetch a profile's model"),
        ("convert", "read a benchmark's published file into $SKILLRAG_DATA"),
        ("record", "record a profile on the Atlas and train its gate"),
        ("run", "run methods on a dataset, print and write their scores"),
    ):
        command = commands.add_parser(name, help=help_)
        if name == "weights":
            command.add_argument("profile", choices=PROFILES)
            continue
        if name == "convert":
            command.add_argument("name", choices=data.DATASETS[1:])
            command.add_argument("split", choices=data.SPLITS)
            command.add_argument("source", help="the file, or hub:DATASET:CONFIG:SPLIT")
            continue
        command.add_argument("--profile", default="pocket", choices=PROFILES)
        if name == "ask":
            command.add_argument("question", nargs="*", help="in your own words")
            command.add_argument(
                "--demo", action="store_true", help="three questions, picked to show three paths"
            )
            command.add_argument("--corpus", help="your own passages, a JSONL file")
        if name == "record":
            command.add_argument("--n", type=int, help="only so many questions a split")
        if name == "run":
            command.add_argument("--dataset", default="atlas", choices=data.DATASETS)
            command.add_argument("--split", default="test", choices=data.SPLITS)
            command.add_argument("--methods", default="all", help="all, or names: a,b")
            command.add_argument("--n", type=int, help="only the first so many questions")
    options = parser.parse_args(arguments)
    try:
        COMMANDS[options.command](options)
    except (ValueError, RuntimeError, OSError) as error:
        print(f"skillrag_lite: {error}", file=sys.stderr)
        return 1
    return 0


def ask(options) -> None:
    """Answer the questions one by one, printing each trace."""
    from .lab import ask

    asked = DEMO if options.demo else [" ".join(options.question)]
    if not any(asked):
        raise ValueError("ask something: python -m skillrag_lite ask 'who wrote Hamlet?'")
    corpus = data.read_passages(options.corpus) if options.corpus else None
    for question in asked:
        mode = "live" if options.demo else "auto"
        print(ask(question, options.profile, corpus, mode), end="\n\n", flush=True)


def weights(options) -> None:
    """Fetch and convert the profile's model, so that later steps find it."""
    from .catalogue import MODELS
    from .checkpoints import converted

    profile = profiles.get(options.profile)
    if profile.weights is None:
        print(f"{profile.model} is fetched from its makers' hub when it is first loaded.")
        return
    model = MODELS[profile.weights]
    print(
        f"{options.profile}: {model.file}, {model.size / 1e6:.0f} MB, {model.licence}", flush=True
    )
    print(f"ready: {converted(profile.weights)}")


def convert(options) -> None:
    """Write a published file's questions and passages where the other commands find them."""
    from .formats import convert

    print(f"ready: {convert(options.name, options.split, options.source)}")


def record(options) -> None:
    """Answer the Atlas under both conditions, train the gate, run the loop, export it all."""
    from .runs import record

    record(options.profile, options.n)


def run(options) -> None:
    """Answer a split by every chosen method, print their scores and write them to results/."""
    from .runs import compare

    chosen = {k: v for k, v in vars(options).items() if k != "command"}
    print(compare(**chosen))


COMMANDS = {"ask": ask, "weights": weights, "convert": convert, "record": record, "run": run}

if __name__ == "__main__":
    sys.exit(main())
