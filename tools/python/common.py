"""What the Python tools share: one-line errors, and files that appear whole or not at all."""

import argparse
import os
import sys
from pathlib import Path

try:
    import numpy  # noqa: F401  every tool needs it: said here, once
except ImportError:
    sys.exit(f"{Path(sys.argv[0]).stem}: numpy is not importable (pip install numpy)")


class Error(Exception):
    """A one-line message for the user."""


class Parser(argparse.ArgumentParser):
    """Mistakes in the command line are one line, and exit status 2."""

    def __init__(self, description=None, **rest):
        super().__init__(
            description=description, formatter_class=argparse.RawDescriptionHelpFormatter, **rest
        )

    def error(self, message):
        program = Path(sys.argv[0]).stem
        self.exit(2, f"{program}: {message}; --help shows the usage\n")


def warn(message):
    """A line on the standard error, of a tool that goes on."""
    print(f"{Path(sys.argv[0]).stem}: {message}", file=sys.stderr)


def whole(least):
    """The type of an argument that is a whole number."""

    def read(text):
        if not text.isascii() or not text.isdigit() or int(text) < least:
            raise argparse.ArgumentTypeError(
                f"must be a whole number of at least {least}, got '{text}'"
            )
        return int(text)

    return read


def run_program(main):
    """Runs main() and returns the exit status: 0, or 1 for an Error, which is printed."""
    try:
        main()
    except Error as error:
        print(f"{Path(sys.argv[0]).stem}: {error}", file=sys.stderr)
        return 1
    return 0


def make_folder(path):
    """With those above it; one that is there already will do."""
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Error(f"{error.filename}: cannot make a folder: {error.strerror}") from error


def write_atomically(path, write):
    """write(file) fills a temporary file next to `path`, which then gets its name."""
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        with open(temporary, "xb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        raise Error(f"{path}: cannot write: {error.strerror or error}") from error
    finally:
        Path(temporary).unlink(missing_ok=True)
