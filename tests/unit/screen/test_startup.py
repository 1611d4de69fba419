"""What a look at a workspace never loads: the screens for orders, people and policies."""

import json

PROGRAM = (
    "import json, sys; from carrel.cli.main import run; assert run(sys.argv[1:]) == 0; "
    "print(json.dumps([name for name in sys.modules if name.startswith('carrel.screen.')]), file=sys.stderr)"
)


def test_a_report_loads_no_screen_for_orders_or_people(process, sample):
    outcome = process("-C", sample, "context", "report", python=("-c", PROGRAM))
    loaded = set(json.loads(outcome.warnings.splitlines()[-1]))
    later = ("injection", "hidden", "folding", "orders", "personal", "ids", "policy")
    assert loaded & {f"carrel.screen.{name}" for name in later} == set()
