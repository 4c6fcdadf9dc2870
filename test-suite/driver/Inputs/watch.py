"""Changes part.cute twice under a command that watches: watch.py FOLDER PROGRAM ARGUMENT…

What the command says is printed up to when it watches for the third time."""
import os
import subprocess
import sys
import threading

folder, command = sys.argv[1], sys.argv[2:]
part = os.path.join(folder, "part.cute")
texts = iter(["fn part(a) { unheard }\n", "fn part(a) { a }\n"])
process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
threading.Timer(120, process.kill).start()
for line in process.stdout:
    print(line, end="", flush=True)
    if line.startswith("watching"):
        text = next(texts, None)
        if text is None:
            break
        # As editors do: another file takes the name.
        with open(part + ".new", "w") as file:
            file.write(text)
        os.replace(part + ".new", part)
process.kill()
os._exit(0)
