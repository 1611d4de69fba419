"""`python -m carrel` and the console script."""

import sys


def main() -> None:
    """Run the command line and exit with its code."""
    from carrel.cli.main import run  # noqa: PLC0415 - `import carrel.__main__` stays light

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
