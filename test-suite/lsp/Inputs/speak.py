"""Speaks to a language server: speak.py FILE PROGRAM ARGUMENT…

FILE holds messages in JSON, separated by lines of `// -----`; other lines of `//` are the test's. After each
message the answer to it is awaited: a response, or the diagnostics of that version. `{"await": METHOD}` is no message:
it waits for the server to say that, and `{"raw": TEXT}` is sent as it is. Everything that the server says is printed; the exit code is the server's."""
import json
import re
import subprocess
import sys


def messages(path):
    with open(path, encoding="utf-8") as file:
        for part in re.split(r"^// -----$", file.read(), flags=re.M):
            text = re.sub(r"^//.*$", "", part, flags=re.M).strip()
            if text:
                yield json.loads(text)


def awaited(message):
    """Whether a message of the server answers this one; None where nothing does."""
    if "await" in message:
        return lambda answer: answer.get("method") == message["await"]
    if "raw" in message:
        return lambda answer: "id" in answer and answer["id"] is None
    if "id" in message:
        return lambda answer: "method" not in answer and answer["id"] == message["id"]
    document = message.get("params", {}).get("textDocument")
    if document is None:
        return None
    wanted = (document["uri"], document.get("version"))
    return lambda answer: "id" not in answer and (
        answer["params"]["uri"], answer["params"].get("version")) == wanted


def read(stream):
    length = None
    while line := stream.readline().strip():
        name, _, value = line.decode().partition(":")
        if name.lower() == "content-length":
            length = int(value)
    if length is None:
        sys.exit("the server is gone")
    return json.loads(stream.read(length))


def main():
    server = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for message in messages(sys.argv[1]):
        if "await" not in message:
            text = message.get("raw", json.dumps(message)).encode()
            server.stdin.write(b"Content-Length: %d\r\n\r\n" % len(text) + text)
            server.stdin.flush()
        answers = awaited(message)
        while answers:
            answer = read(server.stdout)
            print(json.dumps(answer, indent=1, sort_keys=True, ensure_ascii=False))
            if answers(answer):
                break
    server.stdin.close()
    sys.exit(server.wait())


main()
