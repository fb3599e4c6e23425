"""Prints as JSON what tapetrace says of steps or models of a module in this folder: python answers.py MODULE MODE NAME …"""

import json
import sys
from importlib import import_module

import tapetrace


def ask(step, module, mode):
    arguments = module.batch()
    if not mode.startswith("watch"):
        return tapetrace.check(step, *arguments, mode=mode)
    import tensorflow as tf

    with tapetrace.watch() as watched:
        try:
            if hasattr(step, "fit"):
                step.fit(*arguments, batch_size=4, epochs=2, verbose=0)
            else:
                function = tf.function(step) if mode == "watch graph" else step
                for _ in range(3):
                    function(*arguments)
        except AssertionError:
            pass  # TensorFlow refuses to join gradients of which one replica has fewer
    return watched.report


def row(source):
    first = source.breaks[0] if source.breaks else None
    code = first.location.code if first is not None and first.location is not None else ""
    return [source.verdict.value, source.cause.value if source.cause else "", code, list(source.replicas)]


def told(report):
    return {
        "calls": [
            {"code": c.location.code if c.location else "", "rows": {s.path: row(s) for s in c.sources}, "count": len(c.sources)}
            for c in report.calls
        ],
        "causes": [[r.cause.value, r.location.code if r.location else "", r.detail] for r in report.root_causes],
        "agreement": [report.agreement.checked, list(report.agreement.disagreed)],
        "notes": list(report.notes),
        "not_asked": [f.path for f in report.not_asked],
        "not_applied": [f.path for f in report.not_applied],
        "intermittent": len(report.intermittent),
        "drawn": sorted(n.label for n in report.drawing.nodes if n.role.value == "source"),
    }


if __name__ == "__main__":
    named = import_module(sys.argv[1])
    print(json.dumps({name: told(ask(getattr(named, name), named, sys.argv[2])) for name in sys.argv[3:]}))
