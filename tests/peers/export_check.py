"""Compares what the clients loaded of exported plugins with what apkit announces.

usage: export_check.py WORK, the directory that export.sh filled.
"""

import json
import pathlib
import sys

WORK = pathlib.Path(sys.argv[1])
wrong = []


def check(what, seen, wanted):
    if seen != wanted:
        wrong.append(f"{what}: {seen!r} instead of {wanted!r}")


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("{")]


def announced(name):
    package = json.loads((WORK / f"{name}.inspect.json").read_text(encoding="utf-8"))["package"]
    check(f"{name}: verdict", package["verdict"], "loaded")
    skills = sorted(skill["name"] for skill in package["skills"]["loaded"])
    servers = {server["name"]: server["transport"] for server in package["mcp"]["loaded"]}
    return skills, servers


def claude(name, skills, servers):
    events = lines(WORK / f"{name}.claude.jsonl")
    init = next(event for event in events if event.get("subtype") == "init")
    own = lambda names: sorted(entry[len(name) + 1 :] for entry in names if entry.startswith(name + ":"))
    check(f"{name}: skills in Claude Code", own(init["skills"]), skills)
    prefix = f"plugin:{name}:"
    seen = sorted(server["name"][len(prefix) :] for server in init["mcp_servers"] if server["name"].startswith(prefix))
    check(f"{name}: servers in Claude Code", seen, sorted(servers))
    started = [event["outcome"] for event in events if event.get("subtype") == "hook_response"]
    if name == "from-claude":
        check(f"{name}: hooks in Claude Code", started, ["success"])
        check(f"{name}: commands in Claude Code", "from-claude:look" in init["slash_commands"], True)
        check(f"{name}: agents in Claude Code", own(init["agents"]), ["pilot"])
    else:
        check(f"{name}: hooks in Claude Code", started, [])


def other(name, client, skills, servers):
    path = WORK / f"{name}.{client}.jsonl"
    if not path.exists():
        return 0
    seen = lines(path)
    names = lambda kind: sorted(line["name"].rsplit(":", 1)[-1] for line in seen if line["kind"] == kind)
    check(f"{name}: skills in {client}", names("skill"), skills)
    # Known difference: Codex does not know the sse transport.
    wanted = [server for server, transport in servers.items() if client != "codex" or transport != "sse"]
    check(f"{name}: servers in {client}", names("mcp"), sorted(wanted))
    return 1


def main():
    compared = 0
    inputs = sorted(path.name for path in (WORK / "in").iterdir())
    check("the inputs", len(inputs), 4)
    for name in inputs:
        skills, servers = announced(name)
        check(f"{name}: announced skills", skills, ["ebb", "tides"])
        claude(name, skills, servers)
        compared += 1
        for client in ("codex", "copilot"):
            compared += other(name, client, skills, servers)
    hooks = WORK / "from-codex.hooks.jsonl"
    if hooks.exists():
        seen = [line for line in lines(hooks) if line["kind"] in ("plugin", "hook")]
        check("the second plugin in Codex", seen[0].get("accepted"), True)
        check("hooks of the second plugin in Codex", len([line for line in seen if line["kind"] == "hook"]), 1)
    if wrong:
        print("\n".join(wrong), file=sys.stderr)
        sys.exit(1)
    print(f"{compared} loads by real clients agree with what apkit announces")


main()
