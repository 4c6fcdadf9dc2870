"""Runs a command under strace, and lists what it does to the rest of the machine: programs that it starts, sockets, files that it
writes, makes, renames or removes, and files that it reads, but for libraries and what the kernel says of processor and process. Names are
those in FOLDER.

    python3 touches.py FOLDER COMMAND…"""
import os
import re
import subprocess
import sys
import tempfile

folder, command = os.path.realpath(sys.argv[1]), sys.argv[2:]
calls = "openat,open,creat,execve,socket,connect,rename,renameat,renameat2,unlink,unlinkat,mkdir,mkdirat,link,linkat,symlink,symlinkat,chmod"
with tempfile.TemporaryDirectory() as place:
    log = os.path.join(place, "log")
    subprocess.run(["strace", "-f", "-qq", "-y", "-o", log, "-e", "trace=" + calls, *command], stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, check=True, timeout=120, cwd=folder)
    with open(log, encoding="utf-8", errors="replace") as file:
        lines = [re.sub(r"^\d+\s+", "", line.strip()) for line in file]

seen = []
for line in lines:
    call = line.split("(")[0]
    paths = [os.path.normpath(os.path.join(folder, path)) for path in re.findall(r'"([^"]*)"', line)]
    if line.startswith(("---", "+++")) or re.search(r"= -1 E", line) and call in ("open", "openat", "execve"):
        continue
    if call == "execve":
        seen.append("starts " + os.path.basename(paths[0]))
    elif call in ("open", "openat"):
        if re.search(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND", line):
            seen.append("writes " + re.sub(r"\.cutec-\w+", ".cutec-…", paths[0]))
        elif not re.search(r"^/(proc|sys|dev)/|^/etc/ld\.so|\.so(\.[0-9.]+)?$", paths[0]):
            seen.append("reads " + paths[0])
    else:
        seen.append(" ".join([call, *(re.sub(r"\.cutec-\w+", ".cutec-…", path) for path in paths)]))
for one in sorted(set(seen)):
    print(one.replace(folder + os.sep, ""))
