"""The program's hooks against a real EverOS; see everos_server.sh."""

import json
import os
import re
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from everos_peer import Checks, Everos, Hooks, arguments, git, poll, repository

args = arguments(version={})
checks = Checks()
check, same = checks.check, checks.same
everos = Everos(args, args.version)

APP, STRANGER, COFFEE = "github.com_Acme_app", "github.com_Stranger_app", "coffee"
DECISION = "We always use ruff, not black, in this repository."
WHIM = "We always use black, never ruff, for the lint step here."


def told_of(answer, text):
    return text in answer.context and "<everos_memory>" in answer.context


def found(query, where, text):
    """Whether a search comes to find this; indexing takes EverOS a moment."""
    return poll(20, lambda: text in json.dumps(hooks.search(query, where)))


def episode(project, text):
    return poll(20, lambda: everos.holding(project, text))


def coffee():
    checks.part("12.1: said in one session, known in the next")
    directory = args.work / COFFEE
    directory.mkdir()
    one = hooks.session(directory)
    answer = one.start()
    check("a session starts without a word while EverOS is up", answer.silent(), answer)
    before, after = one.say("simple", "My favourite coffee is espresso.", "Noted: espresso it is.")
    check("nothing is recalled from an empty memory", before.silent(), before)
    check("the end of a turn says nothing", after.silent(), after)
    same("EverOS holds the turn, not sealed yet", [m["content"] for m in everos.waiting(COFFEE, one.id)],
         ["My favourite coffee is espresso.", "Noted: espresso it is."])
    answer = one.end("clear")
    check("/clear seals in time (%.2f s)" % answer.took, answer.silent() and answer.took < 1.4, answer)
    stored = episode(COFFEE, "My favourite coffee is espresso.")
    same("users/dev/episodes holds it, once", len(stored), 1)
    check("the episode is the session's", stored and one.id in stored[0], stored)
    check("everos search comes to find it", found("What coffee do I like?", directory, "espresso"))
    two = hooks.session(directory)
    two.start("clear")
    answer = two.prompt("What coffee do I like?")
    check("the next session is told (%.2f s)" % answer.took, told_of(answer, "My favourite coffee is espresso."), answer)
    check("the user sees that it was", answer.notice.startswith("🧠 EverOS: 1 episode"), answer)
    answer = two.prompt("And what coffee do I like on Sundays?")
    check("it is not told again in the same session", "espresso" not in answer.context, answer)


def decision():
    checks.part("12.2: a decision, in worktrees, and nowhere else")
    one = hooks.session(app)
    one.start()
    one.say("trajectory", "Add a lint step. " + DECISION, "The lint step runs ruff now.")
    waiting = everos.waiting(APP, one.id)
    same("the whole trajectory is stored: four calls with their results",
         [m["role"] for m in sorted(waiting, key=lambda m: m["timestamp"])], ["user"] + ["assistant", "tool"] * 4 + ["assistant"])
    one.end()
    stored = episode(APP, DECISION)
    same("the episode is on disk, once", len(stored), 1)
    cases = poll(20, lambda: everos.entries(APP, kind=".cases", owner="agents/claude-code"))
    check("agents/claude-code holds a case of it", len(cases) == 1 and "Add a lint step" in cases[0], cases)
    check("everos search finds the decision in the worktree", found("Which tool does the lint step use?", worktree, "not black"))
    check("and the case", poll(20, lambda: hooks.search("Add a lint step", worktree)["agent"]["agent_cases"]))
    for what, directory in [("the worktree", worktree), ("a clone by another spelling of the remote", clone)]:
        answer = hooks.session(directory).prompt("Please add a lint step to the build")
        check("a new session in %s is told the decision" % what, told_of(answer, DECISION), answer)
        check("with the case: " + answer.notice, "1 case" in answer.notice, answer)
    two = hooks.session(stranger)
    answer = two.prompt("Please add a lint step to the build")
    nothing_of(answer, "not black", "a repository of the same name by another owner is told nothing of it")
    two.told("simple", WHIM, "Black it is.")
    two.stop()
    two.end()
    check("what that one decides is on disk", episode(STRANGER, WHIM))
    check("and found there", found("Which tool does the lint step use?", stranger, WHIM))
    answer = hooks.session(worktree).prompt("Please add a lint step to the build")
    check("the worktree is told its own decision", told_of(answer, DECISION), answer)
    nothing_of(answer, "never ruff", "and nothing of the stranger's")
    answer = hooks.session(args.work / COFFEE).prompt("Please add a lint step to the build")
    nothing_of(answer, "ruff", "a directory without a repository is told neither")


def nothing_of(answer, text, what):
    """EverOS 1.3.1 keeps one profile for all projects; everything else is apart."""
    context = answer.context
    if args.version == "1.3.1":
        context = re.sub("Developer profile:\n(-.*\n)*", "", context)
        what += " but the profile"
    check(what, answer.status == 0 and text not in context, answer)


def profile():
    checks.part("whose the profile is")
    def known(where):
        context = hooks.session(where).prompt("Which indentation should this new file have?").context
        return "prefer tabs" in "".join(re.findall("Developer profile:\n((?:-.*\n)*)", context))

    # EverOS now and then makes none before a further session.
    for preference in ["I always prefer tabs over spaces.", "I always prefer short names.", "I always prefer early returns."]:
        session = hooks.session(app)
        session.say("simple", preference, "Noted.")
        session.end()
        seen = poll(8, lambda: known(worktree))
        if seen:
            break
    check("the project's own sessions are given it", seen)
    if args.version == "1.3.1":
        check("this version's is one for all projects", known(stranger))
    else:
        check("this version keeps one for each project", not known(stranger))


def weak_model():
    checks.part("a slow model, a broken one")
    slow = hooks.session(app)
    slow.say("simple", "The release branch is called harvest.", "Harvest, noted.")
    everos.model(delay_ms={"boundary": 2500})
    answer = slow.end()
    check("a session ends in time while EverOS takes longer (%.2f s)" % answer.took, answer.silent() and answer.took < 1.4, answer)
    same("what it sealed is extracted all the same, once", len(episode(APP, "called harvest")), 1)
    everos.model()
    check("and found", found("What is the release branch called?", app, "harvest"))
    broken = hooks.session(app)
    broken.say("simple", "The staging machine is called thistle.", "Thistle, noted.")
    everos.model(fail={"chat": 500})
    answer = broken.end()
    check("a session ends in time while the model fails (%.2f s)" % answer.took, answer.silent() and answer.took < 1.4, answer)
    log = everos.directory / "everos.log"
    check("EverOS fails to extract", poll(15, lambda: "stub told to fail" in log.read_text(encoding="utf-8", errors="replace")),
          log.read_text(encoding="utf-8", errors="replace")[-1500:])
    everos.model()
    # It writes long reports of its failures, and answers nobody meanwhile.
    poll(20, everos.healthy)
    same("so there is nothing of it", everos.holding(APP, "called thistle"), [])
    broken.grow_old()
    hooks.session(stranger).start()
    same("a later session start has it sealed again: extracted, once", len(episode(APP, "called thistle")), 1)
    everos.model(fail={"embeddings": 503})
    answer = hooks.session(app).prompt("What is the release branch called?")
    check("without embeddings it is recalled by keyword (%.2f s)" % answer.took,
          told_of(answer, "harvest") and "by keyword only" in answer.notice, answer)
    everos.model()


def crash():
    """Turns before, during and after a crash; the sessions they belong to."""
    checks.part("kill -9")
    before, during, after, lost = (hooks.session(app) for _ in range(4))
    before.say("simple", "Crash one: the port is 4711.", "Port 4711.")
    same("a turn is stored before the crash", len(everos.waiting(APP, before.id)), 2)
    during.prompt("Crash two: the queue is called amber.")
    during.told("simple", "Crash two: the queue is called amber.", "Amber.")
    # The connection is accepted, the request is read by nobody.
    (server,) = everos.pids()
    os.kill(server, signal.SIGSTOP)
    stop = during.begin_stop()
    poll(3, lambda: (hooks.data / "state" / (during.id + ".json")).exists())
    time.sleep(0.3)
    check("EverOS is killed in the middle of a request", everos.kill())
    answer = stop.end()
    during.turn = None
    check("the hook ends well (%.2f s)" % answer.took, answer.silent(), answer)
    same("and keeps the turn for later", len(during.state()["pending"]), 1)

    checks.part("12.3: EverOS is down")
    first = hooks.session(worktree)
    answers = [first.start()]
    check("a session starts, with one line of warning", answers[0].status == 0 and answers[0].notice.startswith("⚠️")
          and "\n" not in answers[0].notice and "/everos:status" in answers[0].notice, answers[0])
    for event, call in [
        ("a prompt", lambda: first.prompt("Please add a lint step to the build")),
        ("the end of a turn", lambda: (first.told("simple", "Crash five: the cache is emptied on Mondays.", "Mondays."), first.stop())[1]),
        ("a second prompt", lambda: first.prompt("And another lint step, please")),
        ("a compaction", first.compact),
        ("the end", first.end),
    ]:
        answer = call()
        check("%s: nothing is said, status 0 (%.3f s)" % (event, answer.took), answer.silent(), answer)
        if event.endswith("prompt"):
            check("%s waits for nothing" % event, answer.took < 0.5, answer)
    for session, text in [(after, "Crash three: the mascot is a heron."), (lost, "Crash four: the backup runs at noon.")]:
        session.prompt(text)
        session.told("trajectory", text, "Noted.")
        answer = session.stop()
        check("a turn ends while EverOS is down", answer.silent(), answer)
    status = hooks.status(app)
    check("status tells it: exit status 1, unreachable, four turns wait, a checklist",
          status["exit"] == 1 and not status["healthy"] and not status["server"]["reachable"]
          and status["capture"]["pending"] == 4 and status["checklist"], status)
    result = hooks.command("everos", "search", "lint", cwd=app)
    check("search fails with a reason", result.returncode == 2 and b"connection refused" in result.stderr, result.stderr.decode())
    return before, during, after, lost, first


def recover(before, during, after, lost, first):
    checks.part("EverOS is started by a session")
    hooks.env["EVEROS_CC_START_CMD"] = everos.start_command()
    sessions = [hooks.session(app) for _ in range(6)]
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda session: session.start(), sessions))
    slowest = max(answer.took for answer in answers)
    check("six windows open at the same time: each ends well, within the limit (%.1f s)" % slowest,
          all(answer.status == 0 for answer in answers) and slowest < 13, answers)
    check("each says that EverOS starts or has started",
          all(not a.notice or a.notice[0] in "⚡⏳" for a in answers) and any(a.notice for a in answers), answers)
    same("one server runs", len(everos.pids()), 1)
    check("it becomes healthy", poll(60, everos.healthy))
    hooks.env["EVEROS_CC_START_CMD"] = str(hooks.home / "no-such-program")
    hooks.session(app).start()
    answer = hooks.session(app).prompt("What is the release branch called?")
    check("what was remembered before the crash is", told_of(answer, "harvest"), answer)

    checks.part("what was said meanwhile is not lost, and there once")
    answer = before.end()
    check("the session of before the crash is sealed", answer.silent() and not before.state()["unsealed"], answer)
    same("its turn, added before the crash and sealed after it, once", len(episode(APP, "port is 4711")), 1)
    answer = during.end()
    same("the turn in the middle of whose request EverOS died, once", len(episode(APP, "queue is called amber")), 1)
    _, answer = after.say("simple", "Crash six: the heron is called Otto.", "Otto.")
    check("the next turn brings the missed one along", answer.silent() and not after.state()["pending"], after.state())
    same("both are there, in order, the trajectory whole",
         [(m["role"], m["content"][:9]) for m in sorted(everos.waiting(APP, after.id), key=lambda m: m["timestamp"]) if m["role"] != "tool" and m["content"]],
         [("user", "Crash thr"), ("assistant", "I will lo"), ("assistant", "Now the c"), ("assistant", "Noted."), ("user", "Crash six"), ("assistant", "Otto.")])
    after.compact()
    heron = episode(APP, "mascot is a heron")
    check("a compaction seals them, once", len(heron) == 1 and "Otto" in heron[0], heron)
    same("a session that ended while EverOS was down was taken care of by the next start", len(episode(APP, "emptied on Mondays")), 1)
    same("one that may go on was not", [len(lost.state()["pending"]), everos.holding(APP, "backup runs")], [1, []])
    lost.grow_old()
    answer = hooks.session(stranger).start()
    check("half an hour later a session elsewhere takes care of it", answer.silent(), answer)
    same("it is in its own project, once", len(episode(APP, "backup runs at noon")), 1)
    check("and not where it was taken care of", not everos.holding(STRANGER, "backup") + everos.holding(STRANGER, "Mondays"))
    status = hooks.status(app)
    same("nothing waits any more", [status["exit"], status["capture"]["pending"], status["capture"]["unsealed"], status["capture"]["lost"]], [0, 0, 0, 0])
    check("all of it is recalled", found("When does the backup run?", worktree, "at noon"))


def killed_while_sealing():
    checks.part("kill -9 while EverOS seals")
    session = hooks.session(app)
    session.say("simple", "Crash seven: the bell rings at dawn.", "At dawn.")
    everos.model(delay_ms={"boundary": 4000})
    answer = session.end()
    check("the session ends before EverOS has answered (%.2f s)" % answer.took, answer.silent() and answer.took < 1.4, answer)
    check("EverOS is killed", everos.kill())
    everos.model()
    everos.start()
    check("nothing of it was extracted", not everos.holding(APP, "rings at dawn"))
    session.grow_old()
    hooks.session(app).start()
    same("a later session has it sealed again, once", len(episode(APP, "rings at dawn")), 1)


try:
    everos.start()
    hooks = Hooks(args, args.work / "home", everos.url)
    app = repository(args.work / "app", "git@github.com:Acme/app.git")
    worktree = args.work / "app-b"
    git(app, "worktree", "add", "--quiet", worktree)
    clone = repository(args.work / "third", "https://user@GitHub.com/Acme/app.git/")
    stranger = repository(args.work / "away" / "app", "https://github.com/Stranger/app")

    checks.part("EverOS %s" % args.version)
    result = hooks.command("everos", "status", cwd=worktree)
    text = result.stdout.decode()
    check("status: healthy, the server's version, the project", result.returncode == 0 and args.version in text and APP in text, text)
    status = hooks.status(clone)
    same("status --json: ids", [status["identity"][name] for name in ["app_id", "project_id", "user_id", "agent_id"]],
         ["claude-code", APP, "dev", "claude-code"])
    coffee()
    decision()
    profile()
    weak_model()
    recover(*crash())
    killed_while_sealing()
    same("EverOS has these projects and no other", everos.projects(), sorted([COFFEE, APP, STRANGER]))
    log = (hooks.data / "debug.log").read_text(encoding="utf-8")
    check("the debug log holds nothing that was said", not [word for word in ["espresso", "ruff", "amber", "dawn"] if word in log], log[-2000:])
finally:
    everos.stop()
check("no server is left behind", not everos.pids())
sys.exit(checks.finish())
