"""Shows what a plan chooses."""

import json
import sys

plan = json.load(open(sys.argv[1]))
device = plan["device"]
print(f"version {plan['cutec_plan']}, {device['name']}, {device['arch']}, bench {plan['bench']}")
for kernel in plan["kernels"]:
    assert len(kernel["source"]) == 64
    print(f"{kernel['kernel']} of {kernel['symbols']}, {kernel['configurations']} configurations")
    for size in kernel["sizes"]:
        best = size["measured"][0]
        assert best["parameters"] == size["chosen"]
        assert sum(one.get("is_default", False) for one in size["measured"]) == 1
        print(size["extents"], size["chosen"], f"{size['speedup']:.2f}", size["unit"])
