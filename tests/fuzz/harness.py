"""One target under atheris: `python -m tests.fuzz.harness <target> <libFuzzer options>`."""

import sys

import atheris

with atheris.instrument_imports(include=["kron"]):
    from tests.fuzz.targets import TARGETS


def main() -> None:
    """Fuzz until the time is up or something is found."""
    target = TARGETS[sys.argv.pop(1)]

    def once(data: bytes) -> None:
        target(data.decode("utf-8", "surrogateescape"))

    atheris.Setup(sys.argv, once)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
