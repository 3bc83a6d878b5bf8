#!/usr/bin/env python3
"""Checks what everos_package.sh left behind.

usage: everos_package_check.py WORK PORT VERSION
"""

import json
import pathlib
import sys

work, port, version = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
wrong = []


def check(what, holds):
    print(("ok     " if holds else "WRONG  ") + what)
    if not holds:
        wrong.append(what)


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


(plugin,) = json.loads((work / "list.json").read_text(encoding="utf-8"))
check("installed in the program's version", plugin["version"] == version and plugin["enabled"])

for run in ["first", "second"]:
    (init,) = [e for e in lines(work / f"{run}.jsonl") if e.get("subtype") == "init"]
    check(f"{run} run: no plugin error", not init.get("plugin_errors"))
    commands = sorted(name for name in init["slash_commands"] if name.startswith("everos:"))
    check(f"{run} run: the skills are offered, once each", commands == ["everos:search", "everos:status"])

seen = lines(work / "everos.jsonl")


def calls(name):
    return [entry["body"] for entry in seen if entry["path"].endswith("/" + name)]


def said(role):
    return [m["content"] for body in calls("add") for m in body["messages"] if m["role"] == role]


check("SessionStart asked for health", len(calls("health")) >= 2)
queries = [body["query"] for body in calls("search")]
check("UserPromptSubmit searched both tracks", queries == ["Which lint tool does this repository use?"] * 2)
check("Stop saved the prompt", "Which lint tool does this repository use?" in said("user"))
check("Stop saved the answer", "The lint step uses ruff, as agreed earlier." in said("assistant"))
check("Stop saved the tool's result of the second run", len(said("tool")) == 1)
sessions = {body["session_id"] for body in calls("add")}
check("SessionEnd sealed both sessions", len(sessions) == 2 and {b["session_id"] for b in calls("flush")} == sessions)

requests = (work / "out" / "requests.jsonl").read_text(encoding="utf-8")
check("the model was given the memory", "the lint step uses ruff" in requests and "<everos_memory>" in requests)
check("the model was told where the skill is", "Base directory for this skill: " + str(work / "the memory/everos/skills/status") in requests)

(result,) = [e["tool_use_result"] for e in lines(work / "second.jsonl") if isinstance(e.get("tool_use_result"), dict)]
status = json.loads(result["stdout"])
rows = {row["name"]: row["value"] for row in status["configuration"]}
check("status in the model's shell: healthy", status["healthy"])
check("status in the model's shell: the option's address", rows["EVEROS_CC_BASE_URL"] == f"http://127.0.0.1:{port}")
data = work / "out/config/plugins/data/everos-everos"
check("status in the model's shell: the plugin's data", rows["EVEROS_CC_DATA_DIR"] == str(data))
check("status in the model's shell: the first session is there", len(status["capture"]["sessions"]) >= 1)
sys.exit(1 if wrong else 0)
