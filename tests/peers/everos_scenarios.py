"""Every kind of session with the real Claude Code; see everos_scenarios.sh."""

import json
import os
import pathlib
import signal
import subprocess
import sys

from everos_claude import Claude, StandIn, Terminal, given, install
from everos_peer import Checks, arguments, poll

args = arguments()
checks = Checks()
check, same = checks.check, checks.same

ALL = ["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"]
TOOLS = ["--allowedTools", "Bash,Read,Write,Agent"]


class Like:
    """A text of which only this is known."""

    def __init__(self, *parts):
        self.parts = parts

    def __eq__(self, other):
        return isinstance(other, str) and all(part in other for part in self.parts)

    def __repr__(self):
        return "like %r" % (self.parts,)


def user(text):
    return ["user", text]


def tool(text):
    return ["tool", text]


def said(text, *calls):
    return ["assistant", text, *([name, given] for name, given in calls)]


def bash(command, what, **more):
    return "Bash", dict(command=command, description=what, **more)


def told(messages):
    """Messages as EverOS was sent them, without ids and times."""
    out = []
    for message in messages:
        calls = [call["function"] for call in message.get("tool_calls", [])]
        out.append([message["role"], message["content"], *([c["name"], json.loads(c["arguments"])] for c in calls)])
    return out


def trajectory(what, session, wanted):
    """The messages of a session are these to the letter, and consistent."""
    bodies = everos.bodies("add", session)
    messages = everos.messages(session)
    same("%s: the trajectory is complete and exact (%d messages)" % (what, len(wanted)), told(messages), wanted)
    calls = [call["id"] for m in messages for call in m.get("tool_calls", [])]
    results = [m["tool_call_id"] for m in messages if m["role"] == "tool"]
    times = [m["timestamp"] for m in messages]
    senders = {(m["role"] == "user", m["sender_id"]) for m in messages}
    check("%s: results belong to calls, times increase, ids are right" % what,
          sorted(calls) == sorted(results) and len(set(calls)) == len(calls)
          and all(a < b for a, b in zip(times, times[1:]))
          and senders <= {(True, "dev"), (False, "claude-code")}
          and {(b["app_id"], b["project_id"]) for b in bodies} <= {("claude-code", "project")}, messages)


def sealed(what, session, times=1):
    same("%s: sealed" % what, len(everos.bodies("flush", session)) >= times, True)


def fired(claude, what, wanted=ALL):
    same("%s: the hooks that ran: %s" % (what, " ".join(wanted)), claude.hooks(), wanted)


def remembered(claude, what, wanted):
    """How often each request to the model carried the memory."""
    same("%s: the model was given the memory, once in each request" % what,
         [given(request) for request in claude.requests()], wanted)


def one(name, scenario, prompt, wanted, requests, hooks=ALL, arguments=TOOLS, status=0):
    """A session of one prompt."""
    claude = Claude(args, name, base)
    result = claude.ask(scenario, prompt, *arguments)
    check("%s: Claude Code ends with %d, no hook failed" % (name, status), result == status and not claude.failures(),
          [result, claude.failures(), claude.stderr])
    fired(claude, name, hooks)
    remembered(claude, name, requests)
    (session,) = claude.sessions()
    trajectory(name, session, wanted(claude))
    sealed(name, session)
    return claude, session


LINT = [
    said("I will look at the project first.", bash("ls && echo listed", "List the project")), tool("notes.txt\nlisted"),
    said("", ("Read", None)), tool("1\tthe lint step uses ruff\n2\t"),
    said("Now the check that is expected to fail.", bash("echo partial output; echo broken >&2; exit 3", "Failing check")),
    tool("[tool error] Exit code 3\npartial output\nbroken"),
    said("", ("Write", None)), tool(Like("File created successfully at: ", "lint.cfg")),
    said("Done: lint.cfg now selects ruff."),
]


def lint(claude, prompt="Make the lint step work"):
    """The turn of the scenario `trajectory`."""
    turn = json.loads(json.dumps([m for m in LINT if not isinstance(m[1], Like)]))
    turn.insert(7, LINT[7])
    turn[2][2][1] = {"file_path": "%s/notes.txt" % claude.project}
    turn[6][2][1] = {"file_path": "%s/lint.cfg" % claude.project, "content": "tool = ruff\n"}
    return [user(prompt)] + turn


def in_one_go():
    checks.part("one prompt")
    one("simple", "simple", "Which lint tool does this repository use?", lambda claude: [
        user("Which lint tool does this repository use?"), said("The lint step uses ruff, as agreed earlier.")], [1])
    one("trajectory", "trajectory", "Make the lint step work", lint, [1] * 5)
    one("parallel", "parallel", "Do three things at once", lambda claude: [
        user("Do three things at once"),
        said("Three things at once.", bash("echo alpha", "First"), ("Read", {"file_path": "%s/notes.txt" % claude.project}),
             ("Read", {"file_path": "%s/does-not-exist.txt" % claude.project})),
        *sorted_results(claude), said("", bash("echo beta", "Second")), tool("beta"),
        said("alpha and beta were printed; one file was missing.")], [1] * 3)
    one("api_error", "api_error", "A prompt that is refused", lambda claude: [user("A prompt that is refused")], [1],
        hooks=["SessionStart", "UserPromptSubmit", "SessionEnd"], status=1)
    one("denied", "permission", "Touch the file for me", lambda claude: [
        user("Touch the file for me"), said("", bash("touch made-by-tool", "touch")), tool(Like("[tool error] ")),
        said("Touched it.")], [1] * 2, arguments=[])
    one("subagent", "subagent", "Delegate this to somebody", lambda claude: [
        user("Delegate this to somebody"),
        said("I will delegate this.", ("Agent", {"description": "Look around", "prompt": "SUBAGENT-TASK: look around and report.",
                                                 "subagent_type": "general-purpose"})),
        tool(Like("Subagent report: found from-subagent.")), said("The subagent found from-subagent.")], [1, 0, 0, 1])
    check("subagent: none of its own rows", "Subagent looks around" not in everos.record.read_text(encoding="utf-8"))
    one("background", "background", "Start it in the background", lambda claude: [
        user("Start it in the background"), said("", bash("sleep 2; echo bg-done", "bg", run_in_background=True)),
        tool(Like("Command running in background")), said("Started in background."), said("Background finished, noted.")],
        [1] * 3, hooks=ALL[:3] + ALL[1:3] + ALL[3:])
    check("background: its notification was not searched for", not [q for q in everos.queries() if "task" in q])


def sorted_results(claude):
    """Results of parallel tools come in the order in which the tools ended."""
    wanted = {"alpha", "1\tthe lint step uses ruff\n2\t"}
    (session,) = claude.sessions()
    got = [m["content"] for m in everos.messages(session)][2:5]
    rest = [text for text in got if text not in wanted]
    ok = wanted <= set(got) and len(rest) == 1 and rest[0].startswith("[tool error] File does not exist.")
    return [tool(text) for text in got] if ok else [tool("?")]


def going_on():
    checks.part("a session that goes on: resumed, compacted, forked")
    claude = Claude(args, "goes-on", base)
    claude.ask("trajectory", "Make the lint step work", *TOOLS)
    (session,) = claude.sessions()
    wanted = lint(claude)
    claude.hooks(), claude.requests()

    claude.ask("simple", "And which tool was it again?", "--resume", session)
    wanted += [user("And which tool was it again?"), said("The lint step uses ruff, as agreed earlier.")]
    fired(claude, "resumed")
    remembered(claude, "resumed (what it was given before is still there, nothing is added)", [1])
    trajectory("resumed", session, wanted)

    flushes = len(everos.bodies("flush", session))
    claude.ask("compact", "/compact keep the lint tool", "--resume", session)
    hooks = claude.hooks()
    same("compacted: the hooks that ran", hooks, ["SessionStart", "PreCompact", "SessionStart", "SessionEnd"])
    check("compacted: sealed before it", len(everos.bodies("flush", session)) > flushes)
    trajectory("compacted: nothing is added", session, wanted)
    claude.requests()

    claude.ask("simple", "What do we know of linting?", "--resume", session)
    wanted += [user("What do we know of linting?"), said("The lint step uses ruff, as agreed earlier.")]
    fired(claude, "after the compaction")
    remembered(claude, "after the compaction (it is given anew)", [1])
    trajectory("after the compaction", session, wanted)

    claude.ask("simple", "What would a fork know?", "--resume", session, "--fork-session")
    (fork,) = [name for name in claude.sessions() if name != session]
    fired(claude, "forked")
    trajectory("forked: only what is new", fork, [user("What would a fork know?"), said("The lint step uses ruff, as agreed earlier.")])
    trajectory("forked: nothing is added to the old one", session, wanted)
    sealed("forked", fork)


def compacted_in_mid_turn():
    checks.part("a compaction in the middle of a turn")
    claude = Claude(args, "autocompact", base)
    claude.env["CLAUDE_CODE_AUTO_COMPACT_WINDOW"] = "100000"
    claude.ask("autocompact", "Run both of the checks", "--model", "haiku", *TOOLS)
    (session,) = claude.sessions()
    same("autocompact: the hooks that ran", claude.hooks(),
         ["SessionStart", "UserPromptSubmit", "PreCompact", "SessionStart", "Stop", "SessionEnd"])
    trajectory("autocompact", session, [
        user("Run both of the checks"),
        said("Looking at the notes.", ("Read", {"file_path": "%s/notes.txt" % claude.project})), tool("1\tthe lint step uses ruff\n2\t"),
        said("", bash("echo round-two", "Check")), tool("round-two"),
        said("Running the check before compaction.", bash("echo before-compaction", "Check")), tool("before-compaction"),
        said("", bash("echo after-compaction", "Check again")), tool("after-compaction"),
        said("Both checks printed their line.")])
    sealed("autocompact: before it and at the end", session, 2)
    sent = everos.calls(session)
    check("autocompact: nothing of the turn is split off by the seal before it", sent.index("add") > sent.index("flush"), sent)


def told_to_go_on():
    checks.part("a Stop hook of the project that makes the model go on")
    claude = Claude(args, "continued", base)
    settings = claude.project / ".claude"
    settings.mkdir()
    script = settings / "again.sh"
    script.write_text("n=$(cat '%s/n' 2>/dev/null || echo 0); echo $((n + 1)) > '%s/n'\n"
                      "[ $n -lt 2 ] && { echo 'go on' >&2; exit 2; }; exit 0\n" % (settings, settings), encoding="utf-8")
    hook = {"hooks": [{"type": "command", "command": "bash '%s'" % script}]}
    (settings / "settings.json").write_text(json.dumps({"hooks": {"Stop": [hook]}}), encoding="utf-8")
    claude.ask("continued", "Answer until you are done")
    (session,) = claude.sessions()
    same("continued: three Stops", claude.hooks(), ALL[:2] + ["Stop"] * 3 + ALL[3:])
    remembered(claude, "continued", [1] * 3)
    trajectory("continued", session, [user("Answer until you are done"), said("Answer one."),
               said("Answer two, after being told to go on."), said("Answer three, after being told to go on.")])


def killed():
    for name, sign in [("sigint", signal.SIGINT), ("sigkill", signal.SIGKILL)]:
        checks.part("ended from outside (%s)" % name)
        claude = Claude(args, name, base)
        slow = {"name": "slow", "turns": [{"delay_ms": 20000, "blocks": [{"type": "text", "text": "Too late."}]}]}
        command = claude.command(slow, "-p", "A question nobody waits for")
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        check("%s: the model is asked" % name, poll(20, lambda: [r for r in claude.requests() if r["lane"] == "main"]))
        # It is written a little after the model is asked; killed before that,
        # the session never was.
        check("%s: its transcript holds the question" % name,
              poll(20, lambda: "A question nobody waits for" in claude.transcripts()))
        for pid in cli(claude):
            os.kill(pid, sign)
        check("%s: Claude Code ends" % name, process.wait(timeout=20) is not None and not cli(claude))
        (session,) = claude.sessions()
        if sign == signal.SIGKILL:
            fired(claude, name, ALL[:2])
            same("%s: nothing was sent" % name, everos.messages(session), [])
        else:
            check("%s: no Stop for it" % name, "Stop" not in claude.hooks())
        claude.ask("simple", "Which lint tool does this repository use?", "--resume", session)
        fired(claude, name + ", resumed")
        trajectory(name + ", resumed: with what the interrupted turn said", session, [
            user("A question nobody waits for"), user("Which lint tool does this repository use?"),
            said("The lint step uses ruff, as agreed earlier.")])


def cli(claude):
    """The CLI's processes of this configuration."""
    mark = ("CLAUDE_CONFIG_DIR=%s" % claude.config).encode()
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            environment = (entry / "environ").read_bytes().split(b"\0")
            program = (entry / "cmdline").read_bytes().split(b"\0")[0]
        except OSError:
            continue
        if mark in environment and program.endswith(b"claude"):
            found.append(int(entry.name))
    return found


def in_a_terminal():
    checks.part("in a terminal: a prompt typed meanwhile, /clear, /exit")
    claude = Claude(args, "terminal", base)
    terminal = Terminal(claude, "interactive", "--allowedTools", "Bash")
    try:
        check("terminal: it is ready", terminal.ready, terminal.screen())
        terminal.enter("first question in a terminal")
        check("terminal: the first answer", terminal.shows("First interactive answer."), terminal.screen())
        check("terminal: the user is told of the memory", "EverOS: 1 episode" in terminal.screen(), terminal.screen())
        terminal.enter("second question with a tool")
        terminal.shows("echo one")
        terminal.enter("and mention the queue")
        check("terminal: the second answer", terminal.shows("Second interactive answer."), terminal.screen())
        first = claude.sessions()
        terminal.enter("/clear")
        poll(10, lambda: claude_hooks(claude).count("SessionStart") == 2)
        terminal.enter("question after clearing it")
        check("terminal: an answer after /clear", terminal.shows("Third interactive answer."), terminal.screen())
        check("terminal: it ends", terminal.leave(), terminal.screen())
    finally:
        terminal.close()
    fired(claude, "terminal", ALL[:3] + ALL[1:] + ALL)
    remembered(claude, "terminal", [1] * 4)
    (first,) = first
    (second,) = [name for name in claude.sessions() if name != first]
    trajectory("terminal", first, [
        user("first question in a terminal"), said("First interactive answer."), user("second question with a tool"),
        said("", bash("echo one; sleep 2", "wait")), tool("one"), user("and mention the queue"), said("Second interactive answer.")])
    trajectory("terminal, after /clear", second, [user("question after clearing it"), said("Third interactive answer.")])
    sealed("terminal", first)
    sealed("terminal, after /clear", second)


def claude_hooks(claude):
    """The hooks so far, to be looked at again."""
    before, claude.logged = claude.logged, 0
    every = claude.hooks()
    claude.logged = before
    return every


def interrupted():
    checks.part("in a terminal: interrupted while a tool runs, and at a question")
    claude = Claude(args, "interrupted", base)
    scenario = {"name": "interruptions", "turns": [
        {"blocks": [{"type": "text", "text": "This takes long."}, {"type": "tool_use", "name": "Bash", "input": {"command": "echo begun; sleep 60", "description": "long"}}]},
        {"blocks": [{"type": "text", "text": "Answer after the interruption."}]},
        {"blocks": [{"type": "tool_use", "name": "Bash", "input": {"command": "sleep 61", "description": "long again"}}]},
    ]}
    terminal = Terminal(claude, scenario, "--allowedTools", "Bash")
    try:
        check("interrupted: it is ready", terminal.ready, terminal.screen())
        terminal.enter("run something that takes long")
        check("interrupted: the tool runs", terminal.shows("Running"), terminal.screen())
        terminal.press("Escape")
        check("interrupted: it is", terminal.shows("Interrupted"), terminal.screen())
        same("interrupted: no Stop for it", claude_hooks(claude), ALL[:2])
        terminal.enter("question after the interruption")
        check("interrupted: the next answer", terminal.shows("Answer after the interruption."), terminal.screen())
        poll(10, lambda: claude_hooks(claude)[-1:] == ["Stop"])
        terminal.enter("run another thing that takes long")
        check("interrupted: the second tool runs", terminal.shows("sleep 61"), terminal.screen())
        poll(3, lambda: "Running" in terminal.screen().split("sleep 61")[-1])
        terminal.press("Escape")
        poll(10, lambda: terminal.screen().count("Interrupted") == 2)
        check("interrupted: it ends", terminal.leave(), terminal.screen())
    finally:
        terminal.close()
    fired(claude, "interrupted", ALL[:2] + ALL[1:3] + ["UserPromptSubmit", "SessionEnd"])
    (session,) = claude.sessions()
    trajectory("interrupted: both turns that no Stop told of are there", session, [
        user("run something that takes long"), said("This takes long.", bash("echo begun; sleep 60", "long")),
        tool(Like("[tool error] ")),
        user("question after the interruption"), said("Answer after the interruption."),
        user("run another thing that takes long"), said("", bash("sleep 61", "long again")), tool(Like("[tool error] "))])
    sealed("interrupted", session)


def permission():
    checks.part("in a terminal: a permission given, another refused")
    claude = Claude(args, "permission", base)
    ask = {"type": "tool_use", "name": "Bash", "input": {"command": "touch made-by-tool", "description": "touch"}}
    scenario = {"name": "permissions", "turns": [
        {"blocks": [ask]}, {"blocks": [{"type": "text", "text": "Touched it."}]}, {"blocks": [ask]},
        {"blocks": [{"type": "text", "text": "Then I leave it."}]}]}
    terminal = Terminal(claude, scenario)
    try:
        check("permission: it is ready", terminal.ready, terminal.screen())
        terminal.enter("Touch the file for me")
        check("permission: it is asked for", terminal.shows("Do you want to"), terminal.screen())
        terminal.press("Enter")
        check("permission: given", terminal.shows("Touched it."), terminal.screen())
        poll(10, lambda: claude_hooks(claude)[-1:] == ["Stop"])
        terminal.enter("Touch the file once more")
        check("permission: it is asked for again", terminal.shows("Do you want to"), terminal.screen())
        terminal.press("Escape")
        check("permission: refused", terminal.shows("Interrupted") or "rejected" in terminal.screen(), terminal.screen())
        terminal.enter("Then what do you do?")
        check("permission: an answer after the refusal", terminal.shows("Then I leave it."), terminal.screen())
        check("permission: it ends", terminal.leave(), terminal.screen())
    finally:
        terminal.close()
    fired(claude, "permission", ALL[:3] + ["UserPromptSubmit"] + ALL[1:])
    (session,) = claude.sessions()
    trajectory("permission", session, [
        user("Touch the file for me"), said("", bash("touch made-by-tool", "touch")), tool(Like("")), said("Touched it."),
        user("Touch the file once more"), said("", bash("touch made-by-tool", "touch")), tool(Like("[tool error] ")),
        user("Then what do you do?"), said("Then I leave it.")])
    sealed("permission", session)


everos = StandIn(args)
try:
    base = install(args, everos.url)
    for part in [in_one_go, going_on, compacted_in_mid_turn, told_to_go_on, killed, in_a_terminal, interrupted, permission]:
        part()
finally:
    everos.stop()
sys.exit(checks.finish())
