"""Tokenises .cute files by the TextMate grammar, and checks what comes out. Argument: the checkout.

Covers what the grammar uses of TextMate: match, begin/end, captures, includes of the repository."""
import glob
import json
import os
import re
import sys

ROOT = sys.argv[1]


def load(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return json.load(file)


GRAMMAR = load("editors", "textmate", "cute.tmLanguage.json")


def rules(patterns):
    """The rules with includes resolved, in order."""
    for pattern in patterns:
        if "include" in pattern:
            target = GRAMMAR["repository"][pattern["include"].removeprefix("#")]
            yield from rules([target] if "match" in target or "begin" in target else target["patterns"])
        else:
            yield pattern


def tokenise(text):
    """(token, scope) of everything that a rule takes; what none takes has the scope None."""
    stack = []
    for line in text.split("\n"):
        at = 0
        while True:
            inner = rules(stack[-1].get("patterns", []) if stack else GRAMMAR["patterns"])
            found = [(match.start(), number, rule, match) for number, rule in enumerate(inner, 1)
                     if (match := re.compile(rule.get("match") or rule["begin"]).search(line, at))
                     and (match.end() > match.start() or "begin" in rule)]
            if stack and (end := re.compile(stack[-1]["end"]).search(line, at)):
                found.append((end.start(), 0, None, end))
            if not found:
                break
            start, _, rule, match = min(found, key=lambda entry: entry[:2])
            scope = stack[-1]["name"] if stack else None
            if line[at:start].strip():
                yield line[at:start].strip(), scope
            at = match.end()
            if rule is None:
                yield match.group(), stack.pop()["name"]
                if match.end() == len(line):
                    break
            elif "begin" in rule:
                stack.append(rule)
                yield match.group(), rule["name"]
            elif "captures" in rule:
                for number, capture in sorted(rule["captures"].items()):
                    yield match.group(int(number)), capture["name"]
            else:
                yield match.group().strip(), rule["name"]
        rest = line[at:].strip()
        if rest:
            yield rest, stack[-1]["name"] if stack else None


def check(condition, message):
    if not condition:
        sys.exit("error: " + message)


def scope_of(text, token):
    return next((scope for found, scope in tokenise(text) if found == token), None)


extension = load("editors", "vscode", "package.json")
load("editors", "vscode", "language-configuration.json")
for entry in extension["contributes"]["grammars"]:
    check(load("editors", "vscode", entry["path"]) == GRAMMAR, "the extension has another grammar")
    check(entry["scopeName"] == GRAMMAR["scopeName"], "the extension has another scope")

with open(os.path.join(ROOT, "frontend", "src", "lexer", "token.rs"), encoding="utf-8") as file:
    RESERVED = set(re.findall(r'#\[token\("([a-z_]+)", priority', file.read()))
KEYWORD = ("keyword.", "storage.modifier", "constant.language", "variable.language.wildcard")
for word in sorted(RESERVED):
    check((scope_of(word, word) or "").startswith(KEYWORD), f"`{word}` is not highlighted")
print(f"reserved words: {len(RESERVED)}, all highlighted")

for text, token, scope in [
    ("kernel relu<bs = 128>(x: tensor<f16, (m, n)>)", "relu", "entity.name.function"),
    ("kernel relu<bs = 128>(x: tensor<f16, (m, n)>)", "bs", "variable.parameter"),
    ("kernel relu<bs = 128>(x: tensor<f16, (m, n)>)", "f16", "storage.type"),
    ("let at = S<3,3,3> o 0 o (8, 64) : (64, 1);", "S", "support.function.layout"),
    ("let at = S<3,3,3> o 0 o (8, 64) : (64, 1);", "o", "keyword.operator.word"),
    ("for i in 0..n step 2 { }", "step", "keyword.operator.word"),
    ("let o = 1;", "o", "variable.parameter"),
    ("let x = sm80_16x8x16<bf16, f32>;", "sm80_16x8x16", "support.function.atom"),
    ("let x = size<1, 1>(gx);", "size", "entity.name.function.call"),
    ("let x = 1.5e-3f32 + 0xff;", "1.5e-3f32", "constant.numeric.float"),
    ("let x = 1.5e-3f32 + 0xff;", "0xff", "constant.numeric.hex"),
    ("for i in 0..n { }", "0", "constant.numeric.integer"),
    ('static_assert(a, "let \\" if");', "let", "string"),
    ("/* a /* let */ b */ let", "b", "comment.block"),
    ("/* a /* let */ b */ let", "let", "comment.block"),
    ("/// let", "/// let", "comment.line.documentation"),
]:
    found = scope_of(text, token)
    check(found is not None and found.startswith(scope), f"`{token}` in `{text}` is {found}, not {scope}")

for path in sorted(glob.glob(os.path.join(ROOT, "examples", "*.cute"))):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    tokens = list(tokenise(text))
    name = os.path.basename(path)
    for token, scope in tokens:
        check(scope is not None, f"{name}: `{token}` is taken for nothing")
        if token in RESERVED and not scope.startswith(("comment", "string")):
            check(scope.startswith(KEYWORD), f"{name}: `{token}` is {scope}")
    kernels = re.findall(r"^ *(?:kernel|fn|test|bench) (\w+)", text, re.MULTILINE)
    named = [token for token, scope in tokens if scope == "entity.name.function.cute"]
    check(kernels == named, f"{name}: {kernels} are defined, {named} highlighted")
    print(f"{name}: {len(tokens)} tokens")
print("ok")
