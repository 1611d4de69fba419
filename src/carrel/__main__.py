"""`python -m carrel` and the console script."""

import sys


def main() -> None:
    """Run the command line and exit with its code."""
    if "hook" in sys.argv:  # which runs before every prompt of a person, and has a shorter way
        from carrel.cli.quick import run_hook  # noqa: PLC0415 - as below

        if (code := run_hook(sys.argv[1:])) is not None:
            sys.exit(code)
    from carrel.cli.verbs import answer_shell  # noqa: PLC0415 - as below

    if answer_shell():  # a person waits for it with a key pressed
        return
    from carrel.cli.main import run  # noqa: PLC0415 - `import carrel.__main__` stays light

    sys.exit(run(sys.argv[1:]))


def _leave_current_directory() -> None:
    """Import nothing from where the user stands: `-m` would, and that may be a stranger's workspace."""
    import os  # noqa: PLC0415 - loaded long ago

    try:
        here = {"", os.getcwd()}  # noqa: PTH109 - pathlib is not loaded yet, and must not come from there
    except OSError:
        here = {""}
    if not sys.flags.safe_path and sys.path[:1] and sys.path[0] in here:
        del sys.path[0]


if __name__ == "__main__":
    _leave_current_directory()
    main()
