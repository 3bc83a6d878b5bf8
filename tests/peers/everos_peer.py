"""What the everos peer checks share: the list of checks, a place to work in, the
real EverOS, hooks called as Claude Code calls them, the real Claude Code.

Needs Python 3.8 and its standard library only.
"""

import argparse
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid

HERE = pathlib.Path(__file__).resolve().parent
FIXTURES = HERE.parent / "fixtures" / "claude-code"


def arguments(**more):
    """The command line of a check script."""
    parser = argparse.ArgumentParser()
    for name in ["work", "apkit", "shared", "cache"]:
        parser.add_argument("--" + name, type=pathlib.Path, required=True)
    for name, options in more.items():
        parser.add_argument("--" + name, **options)
    return parser.parse_args()


class Checks:
    """Says one line for each thing that was checked."""

    def __init__(self):
        self.count = 0
        self.wrong = []
        self.started = time.monotonic()

    def part(self, title):
        print("   -- %s (at %.0f s)" % (title, time.monotonic() - self.started), flush=True)

    def check(self, what, holds, seen=None):
        self.count += 1
        print("%s %3d  %s" % ("ok   " if holds else "WRONG", self.count, what), flush=True)
        if not holds:
            self.wrong.append(what)
            print("           seen: %s" % show(seen), flush=True)
        return bool(holds)

    def same(self, what, got, wanted):
        return self.check(what, got == wanted, {"got": got, "wanted": wanted})

    def finish(self):
        took = time.monotonic() - self.started
        print("%d checks, %d wrong, %.0f s" % (self.count, len(self.wrong), took), flush=True)
        return 1 if self.wrong else 0


def show(value):
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) < 4000 else text[:2500] + " [...] " + text[-1400:]


def poll(seconds, look):
    """Looks again and again until something is seen; the last look's result."""
    end = time.monotonic() + seconds
    while True:
        seen = look()
        if seen or time.monotonic() > end:
            return seen
        time.sleep(0.1)


def lines(path):
    """The objects of a JSONL file, without a last line that is not finished."""
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8", errors="surrogateescape")
    return [json.loads(line) for line in text.split("\n")[:-1] if line.strip()]


def run(command, **options):
    options.setdefault("stdout", subprocess.PIPE)
    options.setdefault("stderr", subprocess.PIPE)
    options.setdefault("timeout", 120)
    return subprocess.run([str(part) for part in command], **options)


def git(directory, *command):
    clean = {"PATH": os.environ["PATH"], "HOME": str(directory), "GIT_CONFIG_NOSYSTEM": "1"}
    who = ["-c", "user.name=dev", "-c", "user.email=dev@localhost", "-c", "init.defaultBranch=main"]
    result = run(["git", *who, *command], cwd=directory, env=clean)
    if result.returncode:
        sys.exit("git %s: %s" % (command, result.stderr.decode()))


def repository(path, remote):
    """A repository with one commit and this remote."""
    path.mkdir(parents=True)
    git(path, "init", "--quiet")
    (path / "notes.txt").write_text("the lint step uses ruff\n", encoding="utf-8")
    git(path, "add", ".")
    git(path, "commit", "--quiet", "-m", "start")
    if remote:
        git(path, "remote", "add", "origin", remote)
    return path


class Everos:
    """A real EverOS with the stub model behind it."""

    def __init__(self, args, version, name="everos"):
        self.version = version
        self.driver = args.shared / "everos"
        self.directory = args.work / name
        self.venv = args.cache / ("everos-" + version)
        self.root = self.directory / "root"
        self.port = 0
        self.own = []

    def start(self):
        """Starts it, on the port it had before, and waits until it is healthy."""
        env = dict(os.environ, APKIT_EVEROS_VERSION=self.version)
        command = ["bash", self.driver / "start_everos.sh", "--venv", self.venv, "--dir", self.directory]
        result = run(command + ["--port", self.port], env=env, stderr=None)
        if result.returncode:
            sys.exit("EverOS %s did not start" % self.version)
        self.url = result.stdout.decode().strip()
        self.port = int(self.url.rsplit(":", 1)[1])

    def start_command(self):
        """How a hook would start this server; its model is a process of its own."""
        program = [self.venv / "bin/python", self.driver / "everos_offline.py"]
        return " ".join("'%s'" % part for part in program + ["server", "start", "--root", self.root, "--port", self.port])

    def pid(self):
        return int((self.directory / "everos.pid").read_text())

    def pids(self):
        """Every process that serves this instance's directory, by its command line."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            try:
                words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
            except OSError:
                continue
            if str(self.root) in words and "server" in words:
                found.append(int(entry.name))
        return found

    def kill(self, sign=signal.SIGKILL):
        """Ends the server, as a crash would, but not the model behind it."""
        for pid in self.pids():
            os.kill(pid, sign)
        return poll(35, lambda: not self.pids() and not self.listens())

    def listens(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def stop(self):
        self.kill()
        run(["bash", self.driver / "stop_everos.sh", "--dir", self.directory], stderr=None)

    def get(self, path):
        try:
            with urllib.request.urlopen(self.url + path, timeout=3) as answer:
                return json.load(answer)
        except (OSError, ValueError):
            return None

    def healthy(self):
        return (self.get("/health") or {}).get("status") == "ok"

    def post(self, path, body, base=None):
        request = urllib.request.Request(
            (base or self.url) + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def model(self, **how):
        """Makes the model slow or broken, or with nothing given well again."""
        port = (self.directory / "stub.port").read_text().strip()
        self.post("/_stub/config" if how else "/_stub/reset", how, "http://127.0.0.1:" + port)

    def projects(self):
        """Every project there is a memory of, on disk."""
        top = self.root / "claude-code"
        return sorted(entry.name for entry in top.iterdir()) if top.is_dir() else []

    def entries(self, project, kind="episodes", owner="users/dev"):
        """The entries of all daily files of a project."""
        found = []
        for path in sorted((self.root / "claude-code" / project / owner / kind).glob("*.md")):
            text = path.read_text(encoding="utf-8")
            found += [part.split("<!-- /entry:")[0] for part in text.split("<!-- entry:")[1:]]
        return found

    def holding(self, project, text, **where):
        return [entry for entry in self.entries(project, **where) if text in entry]

    def waiting(self, project, session):
        """Messages of a session that are stored but not sealed yet."""
        body = {"user_id": "dev", "app_id": "claude-code", "project_id": project, "query": "x",
                "method": "keyword", "filters": {"session_id": session}}
        return self.post("/api/v2/memory/search", body)["data"]["unprocessed_messages"]


class Hooks:
    """Calls the program's hooks as Claude Code does, for one user on one machine."""

    def __init__(self, args, home, url):
        self.apkit = args.apkit
        self.home = home
        self.data = home / "plugin data"
        (home / "transcripts").mkdir(parents=True)
        self.env = {
            "PATH": os.environ["PATH"], "HOME": str(home), "USER": "dev", "LANG": "C.UTF-8",
            "CLAUDE_PLUGIN_DATA": str(self.data), "CLAUDE_PLUGIN_OPTION_BASE_URL": url,
            "EVEROS_CC_DEBUG": "1", "EVEROS_CC_START_CMD": str(home / "no-such-program"),
        }

    def command(self, *words, cwd, **env):
        """A command as a terminal would run it: told the data directory and the address."""
        more = {"EVEROS_CC_DATA_DIR": str(self.data), "EVEROS_CC_BASE_URL": self.env["CLAUDE_PLUGIN_OPTION_BASE_URL"]}
        return run([self.apkit, *words], cwd=cwd, env=dict(self.env, **more, **env))

    def status(self, cwd):
        result = self.command("everos", "status", "--json", cwd=cwd)
        return dict(json.loads(result.stdout), exit=result.returncode)

    def search(self, query, cwd):
        """What a search finds: the items of each list."""
        result = self.command("everos", "search", "--json", "--", query, cwd=cwd)
        return json.loads(result.stdout) if result.returncode == 0 else {}

    def session(self, directory):
        return Session(self, directory)


class Answer:
    """What a hook gave back."""

    def __init__(self, process, took):
        self.status, self.took = process.returncode, took
        self.stdout, self.stderr = process.stdout.decode(), process.stderr.decode()
        value = json.loads(self.stdout) if self.stdout else {}
        self.notice = value.get("systemMessage", "")
        self.context = value.get("hookSpecificOutput", {}).get("additionalContext", "")

    def silent(self):
        return self.status == 0 and self.stdout == ""

    def __repr__(self):
        return "status %d after %.2f s, stdout %r, stderr %r" % (self.status, self.took, self.stdout, self.stderr)


class Session:
    """A session of Claude Code, told again from recorded payloads and transcripts."""

    def __init__(self, hooks, directory):
        self.hooks, self.directory = hooks, directory
        self.id = str(uuid.uuid4())
        self.transcript = hooks.home / "transcripts" / (self.id + ".jsonl")
        self.turn = None
        self.last = None

    def call(self, event, case, **more):
        """Runs one hook with the payload recorded as CASE."""
        payload = json.loads((FIXTURES / "hooks" / (case + ".json")).read_text(encoding="utf-8"))
        payload.update(session_id=self.id, transcript_path=str(self.transcript), cwd=str(self.directory), **more)
        if "prompt_id" in payload:
            payload["prompt_id"] = self.turn or str(uuid.uuid4())
        started = time.monotonic()
        process = subprocess.Popen(
            [str(self.hooks.apkit), "hook", event], cwd=self.directory, env=self.hooks.env,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        return Running(process, json.dumps(payload).encode() + b"\n", started)

    def start(self, source="startup"):
        return self.call("session-start", "SessionStart." + source).end()

    def prompt(self, text):
        self.turn = str(uuid.uuid4())
        return self.call("user-prompt-submit", "UserPromptSubmit.typed", prompt=text).end()

    def told(self, case, prompt, answer):
        """Appends the recorded turn CASE to the transcript, with these words in it."""
        payload = json.loads((FIXTURES / "hooks" / ("Stop.%s.json" % case)).read_text(encoding="utf-8"))
        text = (FIXTURES / "transcripts" / (case + ".jsonl")).read_text(encoding="utf-8")
        self.turn = self.turn or str(uuid.uuid4())
        spoken = [json.loads(line) for line in text.splitlines()]
        (first,) = {l["message"]["content"] for l in spoken if l.get("promptSource")}
        mark = uuid.uuid4().hex[:8]
        for old, new in [
            (payload["session_id"], self.id), (payload["prompt_id"], self.turn),
            (payload["session_id"].split("-")[0] + "-", mark + "-"),
            ("toolu_mock", "toolu_" + mark), ("req_mock", "req_" + mark), ("msg_mock", "msg_" + mark),
            (json.dumps(first), json.dumps(prompt)),
            (json.dumps(payload["last_assistant_message"]), json.dumps(answer)),
        ]:
            text = text.replace(old, new)
        turn = [json.loads(line) for line in text.splitlines()]
        # As if it had happened just now: EverOS tells messages apart by their times.
        stamped = [line for line in turn if "timestamp" in line]
        now = time.time()
        for at, line in enumerate(stamped):
            moment = now - 0.01 * (len(stamped) - at)
            line["timestamp"] = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(moment)) + ".%03dZ" % (moment % 1 * 1000)
        with self.transcript.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in turn)
        self.last = (case, answer)
        # Later turns of the session must not share a moment with this one.
        time.sleep(0.02)

    def begin_stop(self):
        case, answer = self.last
        running = self.call("stop", "Stop." + case, last_assistant_message=answer)
        return running

    def stop(self):
        answer = self.begin_stop().end()
        self.turn = None
        return answer

    def say(self, case, prompt, answer):
        """A whole turn; the answers of its two hooks."""
        before = self.prompt(prompt)
        self.told(case, prompt, answer)
        return before, self.stop()

    def end(self, reason="other"):
        return self.call("session-end", "SessionEnd." + reason).end()

    def compact(self):
        return self.call("pre-compact", "PreCompact.manual").end()

    def state(self):
        path = self.hooks.data / "state" / (self.id + ".json")
        return json.loads(path.read_text(encoding="utf-8"))

    def grow_old(self):
        """Makes the session look as if nothing had happened in it for a while."""
        then = time.time() - 31 * 60
        for path in [self.hooks.data / "state" / (self.id + ".json"), self.transcript]:
            os.utime(path, (then, then))


class Running:
    """A hook at work."""

    def __init__(self, process, payload, started):
        self.process, self.started = process, started
        process.stdin.write(payload)
        process.stdin.close()
        process.stdin = None

    def end(self):
        stdout, stderr = self.process.communicate(timeout=60)
        done = subprocess.CompletedProcess([], self.process.returncode, stdout, stderr)
        return Answer(done, time.monotonic() - self.started)
