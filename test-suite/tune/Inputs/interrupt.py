"""Kills a search when its journal has results: interrupt.py PLAN COMMAND …"""

import pathlib
import subprocess
import sys
import time

plan = pathlib.Path(sys.argv[1])
journal = pathlib.Path(f"{plan}.journal")
process = subprocess.Popen([*sys.argv[2:], "-o", str(plan)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
while process.poll() is None:
    if journal.exists() and journal.read_text().count("\n") > 2:
        break
    time.sleep(0.005)
process.kill()
process.wait()
assert journal.exists(), "the search was over before it was killed"
assert not plan.exists()
