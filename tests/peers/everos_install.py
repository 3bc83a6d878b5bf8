"""The life of an installed package; see everos_install.sh."""

import json
import re
import sys

from everos_claude import Claude, StandIn
from everos_peer import Checks, arguments, run

args = arguments()
checks = Checks()
check, same = checks.check, checks.same
ALL = ["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"]
PROMPT = "Which lint tool does this repository use?"


def plugin(*words):
    status = claude.run("simple", "plugin", *words)
    return status, claude.stdout + claude.stderr


def listed():
    """Version and state of the installed package."""
    claude.run("simple", "plugin", "list", "--json")
    return [(entry["version"], entry["enabled"]) for entry in json.loads(claude.stdout) if entry["id"] == "everos@everos"]


def works(what, wanted=ALL):
    before = len(everos.queries())
    status = claude.ask("simple", PROMPT)
    same("%s: the hooks that ran" % what, claude.hooks(), wanted)
    check("%s: no failure, and %s at the address of the option" % (what, "nothing asked" if not wanted else "EverOS was asked"),
          status == 0 and not claude.failures() and len(everos.queries()) - before == (2 if wanted else 0), claude.stderr)
    (start,) = [event for event in claude.events() if event.get("subtype") == "init"]
    skills = sorted(name for name in start["slash_commands"] if name.startswith("everos:"))
    same("%s: the skills" % what, skills, ["everos:search", "everos:status"] if wanted else [])


def export(version=None):
    """Writes the marketplace; of another version by changing what it says of itself."""
    done = run([args.apkit, "export", "builtin:everos", "--out", memory, "--marketplace", "--force"])
    if done.returncode:
        sys.exit(done.stderr.decode())
    for path in memory.rglob("*.json") if version else []:
        text = path.read_text(encoding="utf-8")
        path.write_text(re.sub(r'("version": )"%s"' % re.escape(current), r'\1"%s"' % version, text), encoding="utf-8")


everos = StandIn(args)
try:
    current = run([args.apkit, "--version"]).stdout.decode().split()[1]
    memory = args.work / "mémoire $HOME"
    export()
    claude = Claude(args, "user")

    checks.part("install")
    for words in [["validate", "--strict", str(memory)], ["validate", "--strict", str(memory / "everos")]]:
        status, text = plugin(*words)
        same("claude plugin %s" % " ".join(words[:2]), status, 0)
    status, text = plugin("marketplace", "add", str(memory))
    check("the marketplace is added", status == 0, text)
    status, text = plugin("install", "everos@everos", "--config", "base_url=" + everos.url, "--config", "everos_dir=/nowhere at all")
    check("the package is installed, both options are known", status == 0 and "unknown" not in text.lower(), text)
    same("it is listed in the program's version, enabled", listed(), [(current, True)])
    settings = json.loads((claude.config / "settings.json").read_text(encoding="utf-8"))
    same("the options are kept", settings["pluginConfigs"]["everos@everos"]["options"],
         {"base_url": everos.url, "everos_dir": "/nowhere at all"})
    works("installed")
    skill = memory / "everos/bin/apkit"
    claude.ask({"name": "status", "turns": [
        {"blocks": [{"type": "tool_use", "name": "Bash", "input": {"command": "'%s' everos status --json" % skill, "description": "Status"}}]},
        {"blocks": [{"type": "text", "text": "Memory works."}]}]}, "/everos:status", "--allowedTools", "Bash")
    (session,) = [name for name in claude.sessions() if any(m["role"] == "tool" for m in everos.messages(name))]
    (result,) = [m["content"] for m in everos.messages(session) if m["role"] == "tool"]
    rows = {row["name"]: row["value"] for row in json.loads(result)["configuration"]}
    same("the model's shell knows both options, too", [rows["EVEROS_CC_BASE_URL"], rows["EVEROS_CC_EVEROS_DIR"]], [everos.url, "/nowhere at all"])
    claude.hooks()

    checks.part("disable, enable")
    status, text = plugin("disable", "everos@everos")
    same("it is disabled", [status, listed()], [0, [(current, False)]])
    before = claude.sessions()
    works("disabled", [])
    unseen = set(claude.sessions()) - set(before)
    status, text = plugin("enable", "everos@everos")
    same("it is enabled", [status, listed()], [0, [(current, True)]])
    works("enabled again")

    checks.part("update")
    status, text = plugin("update", "everos@everos")
    check("of the same version there is no update", status == 0 and "latest version" in text, text)
    export("99.1.0")
    for words in [["validate", "--strict", str(memory)], ["marketplace", "update", "everos"], ["update", "everos@everos"]]:
        status, text = plugin(*words)
        check("claude plugin %s, with a newer version there" % " ".join(words[:2]), status == 0, text)
    same("the new version is installed", listed(), [("99.1.0", True)])
    works("updated")
    state = sorted(path.stem for path in (claude.data / "state").glob("*.json"))
    same("what was remembered before the update is still there", state, sorted(set(claude.sessions()) - unseen))

    checks.part("uninstall")
    status, text = plugin("uninstall", "everos@everos")
    same("it is uninstalled", [status, listed()], [0, []])
    check("with its data and options", not claude.data.exists() and everos.url not in (claude.config / "settings.json").read_text(encoding="utf-8"))
    works("uninstalled", [])
    status, text = plugin("marketplace", "remove", "everos")
    check("the marketplace is removed; the exported directory stays", status == 0 and skill.exists(), text)
finally:
    everos.stop()
sys.exit(checks.finish())
