"""A peer at work in its own environment: `python inside.py NAME`, told what to do by lines of JSON."""

import json
import sys
import time
from importlib.metadata import version
from pathlib import Path

from stores import STORES, Store

PACKAGES = {"memsearch": "memsearch", "mem0": "mem0ai", "chroma": "chromadb"}


def main() -> None:
    name = sys.argv[1]
    store: Store | None = None
    answers, sys.stdout = sys.stdout, sys.stderr  # what a peer prints is no answer
    for line in sys.stdin:
        told = json.loads(line)
        began = time.perf_counter()
        match told["do"]:
            case "open":
                store = STORES[name](Path(told["folder"]))
                answer = {"version": version(PACKAGES.get(name, name)), "about": store.about}
            case "ask":
                answer = {"answers": [_asked(store, text, told["limit"]) for text in told["texts"]]}
            case "kept":
                answer = {"kept": store.kept()}
            case "settle":
                answer = {"settled": store.settle()}
            case _:
                store.add(told["numbers"], told["texts"])
                answer = {"added": len(told["numbers"])}
        answer["seconds"] = time.perf_counter() - began
        print(json.dumps(answer), file=answers, flush=True)


def _asked(store: Store, text: str, limit: int) -> tuple[float, list[int]]:
    """The milliseconds of an answer, and the answer."""
    began = time.perf_counter()
    found = store.ask(text, limit)
    return (time.perf_counter() - began) * 1000, found


if __name__ == "__main__":
    main()
