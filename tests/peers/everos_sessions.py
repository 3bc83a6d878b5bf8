"""Real Claude Code, real EverOS; see everos_sessions.sh."""

import json
import sys

from everos_claude import Claude, Terminal, given, install
from everos_peer import Checks, Everos, arguments, git, poll, repository

args = arguments()
checks = Checks()
check, same = checks.check, checks.same
everos = Everos(args, "1.5.1")
APP = "github.com_Acme_app"
ALL = ["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"]
DECISION = "We always use ruff, not black, in this repository."


def session(directory, scenario, prompt, *more):
    """A new session in this directory; what the model was asked."""
    claude.project = directory
    status = claude.ask(scenario, prompt, "--allowedTools", "Bash,Read,Write", *more)
    check("a session in %s: no failure" % directory.name, status == 0 and not claude.failures(), claude.stderr)
    return claude.requests()


def text_of(request):
    return json.dumps(request["body"]["messages"], ensure_ascii=False)


def answer(text):
    return {"name": "answer", "turns": [{"blocks": [{"type": "text", "text": text}]}]}


def found(text, project=APP):
    return poll(20, lambda: everos.holding(project, text))


def searchable(text, query, project=APP):
    """Indexing takes EverOS a moment after the file is there."""
    body = {"user_id": "dev", "app_id": "claude-code", "project_id": project, "query": query}
    return poll(20, lambda: text in json.dumps(everos.post("/api/v2/memory/search", body), ensure_ascii=False))


try:
    everos.start()
    app = repository(args.work / "app", "git@github.com:Acme/app.git")
    worktree = args.work / "app-b"
    git(app, "worktree", "add", "--quiet", worktree)
    stranger = repository(args.work / "away" / "app", "https://github.com/Stranger/app")
    claude = install(args, everos.url)

    checks.part("session one decides")
    requests = session(app, "trajectory", "Add a lint step. " + DECISION)
    same("the hooks that ran", claude.hooks(), ALL)
    same("the model was given nothing: there is nothing yet", [given(request) for request in requests], [0] * 5)
    (one,) = claude.sessions()
    stored = found(DECISION)
    check("EverOS has an episode of it on disk, of this session, once", len(stored) == 1 and one in stored[0], stored)
    case = poll(20, lambda: everos.entries(APP, kind=".cases", owner="agents/claude-code"))
    check("and a case of the four tools", len(case) == 1 and "lint.cfg" in case[0], case)
    check("and finds it", searchable("not black", "Which tool for the lint step?"))

    checks.part("session two is told")
    for directory in [worktree, app]:
        (request,) = session(directory, "simple", "Please add a lint step to the build")
        check("in %s the model's request carries the decision, once" % directory.name,
              given(request) == 1 and DECISION in text_of(request), text_of(request))
    (request,) = session(stranger, "simple", "Please add a lint step to the build")
    check("a repository of the same name by another owner is told nothing", given(request) == 0 and "not black" not in text_of(request), text_of(request))
    claude.hooks()

    checks.part("the skills")
    program = args.work / "the memory/everos/bin/apkit"
    for skill, command, wanted in [
        ("/everos:search lint", "everos search -- 'Which tool for the lint step?'", DECISION),
        ("/everos:status", "everos status", APP),
    ]:
        use = {"type": "tool_use", "name": "Bash", "input": {"command": "\"%s\" %s" % (program, command), "description": "Memory"}}
        requests = session(worktree, {"name": "skill", "turns": [{"blocks": [use]}, {"blocks": [{"type": "text", "text": "That is it."}]}]}, skill)
        (result,) = [e["tool_use_result"] for e in claude.events() if isinstance(e.get("tool_use_result"), dict)]
        check("%s in the model's shell finds what it should" % skill, wanted in result["stdout"], result)
    claude.hooks()

    checks.part("EverOS is killed; sessions go on")
    check("EverOS is killed", everos.kill())
    (request,) = session(app, answer("Heron, noted."), "Our mascot is a heron.")
    same("the hooks that ran", claude.hooks(), ALL)
    same("the model was asked as usual, without memory", given(request), 0)
    lost = claude.sessions()[-1]
    terminal_user = Claude(args, "terminal", claude, app)
    terminal_user.env["EVEROS_CC_START_CMD"] = "no-such-everos"
    terminal = Terminal(terminal_user, "interactive")
    try:
        check("in a terminal one line tells it", terminal.ready and terminal.shows("EverOS could not be started"), terminal.screen())
        terminal.enter("first question of the day")
        check("and the session works", terminal.shows("First interactive answer."), terminal.screen())
        same("no second line does", terminal.screen().count("⚠"), 1)
        check("it ends", terminal.leave(), terminal.screen())
    finally:
        terminal.close()

    checks.part("a session starts EverOS; what was missed is made up for")
    claude.env["EVEROS_CC_START_CMD"] = everos.start_command()
    (request,) = session(stranger, answer("Good morning."), "Good morning to everybody here")
    check("EverOS comes up and outlives the session", poll(60, everos.healthy) and len(everos.pids()) == 1, claude.debug())
    session(stranger, answer("Good day."), "Good day to everybody here")
    stored = found("Our mascot is a heron.")
    check("what the session said that ended meanwhile is in its own project, once", len(stored) == 1 and lost in stored[0], stored)
    session(app, answer("The heron is called Otto."), "What is our mascot called?", "--resume", lost)
    stored = found("The heron is called Otto.")
    check("that session, resumed, adds what is new and only that", len(stored) == 1 and "Our mascot is" not in stored[0], stored)
    check("EverOS finds it", searchable("heron", "What is our mascot?"))
    (request,) = session(worktree, "simple", "Tell me, what is our mascot?")
    check("and the next session is told", "Our mascot is a heron." in text_of(request), text_of(request))
    check("nothing of either is the stranger's", not everos.holding("github.com_Stranger_app", "heron"), everos.projects())
finally:
    everos.stop()
check("no server is left behind", not everos.pids())
sys.exit(checks.finish())
