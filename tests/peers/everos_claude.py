"""The real Claude Code for the everos peer checks: installed once with the
exported package, then a copy for each scenario, in `-p` mode or in a terminal."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time

from everos_peer import HERE, lines, poll, run

DONE = {"session-start": "SessionStart", "recall": "UserPromptSubmit", "capture": "Stop",
        "session-end": "SessionEnd", "pre-compact": "PreCompact"}


class StandIn:
    """The recording stand-in for EverOS."""

    def __init__(self, args):
        self.record = args.work / "everos.jsonl"
        self.record.touch()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = "http://127.0.0.1:%d" % self.port
        command = [sys.executable, HERE / "everos_stand_in.py", str(self.port), str(self.record)]
        self.process = subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL)

    def of(self, session):
        return [entry for entry in lines(self.record) if (entry["body"] or {}).get("session_id") == session]

    def calls(self, session):
        """What was asked for a session, in order: `add`, `flush`."""
        return [entry["path"].rsplit("/", 1)[1] for entry in self.of(session)]

    def bodies(self, what, session):
        return [entry["body"] for entry in self.of(session) if entry["path"].endswith("/" + what)]

    def messages(self, session):
        return [message for body in self.bodies("add", session) for message in body["messages"]]

    def queries(self):
        return [entry["body"]["query"] for entry in lines(self.record) if entry["path"].endswith("/search")]

    def stop(self):
        self.process.kill()
        self.process.wait()


class Claude:
    """One user's Claude Code: a home and a configuration of its own."""

    def __init__(self, args, name, like=None, project=None):
        self.args = args
        self.driver = args.shared / "claude-code"
        self.out = args.work / name
        self.config = self.out / "config"
        self.project = project or self.out / "project"
        self.data = self.config / "plugins/data/everos-everos"
        self.env = {"EVEROS_CC_DEBUG": "1", "USER": "dev"}
        self.seen = 0
        self.logged = 0
        if like:
            # What an installation leaves behind, with its paths made ours.
            shutil.copytree(like.config, self.config, symlinks=True)
            (self.config / ".claude.json").unlink()
            for path in self.config.rglob("*.json"):
                text = path.read_text(encoding="utf-8")
                path.write_text(text.replace(str(like.out), str(self.out)), encoding="utf-8")
        if not self.project.exists():
            self.project.mkdir(parents=True)
            (self.project / "notes.txt").write_text("the lint step uses ruff\n", encoding="utf-8")

    def command(self, scenario, *arguments, interactive=False, stdin=None):
        if isinstance(scenario, dict):
            path = self.out / (scenario["name"] + ".json")
            self.out.mkdir(exist_ok=True)
            path.write_text(json.dumps(scenario), encoding="utf-8")
        else:
            path = self.driver / "scenarios" / (scenario + ".json")
        command = ["bash", self.driver / "run_claude.sh", "--cache", self.args.cache / "claude", "--out", self.out,
                   "--scenario", path, "--project", self.project]
        for name, value in self.env.items():
            command += ["--env", "%s=%s" % (name, value)]
        if interactive:
            command += ["--interactive"]
        if stdin:
            command += ["--stdin", stdin]
        return [str(part) for part in command + ["--", *arguments]]

    def run(self, scenario, *arguments, stdin=None, timeout=90):
        """One run to its end; the exit status."""
        done = run(self.command(scenario, *arguments, stdin=stdin), timeout=timeout)
        self.stdout = (self.out / "stdout").read_text(encoding="utf-8")
        self.stderr = (self.out / "stderr").read_text(encoding="utf-8")
        return done.returncode

    def ask(self, scenario, prompt, *arguments, stdin=None):
        """One prompt in `-p` mode; the exit status."""
        prompt = [] if prompt is None else [prompt]
        return self.run(scenario, "-p", *prompt, "--output-format", "stream-json", "--verbose",
                        "--include-hook-events", *arguments, stdin=stdin)

    def events(self):
        return [json.loads(line) for line in self.stdout.splitlines() if line.startswith("{")]

    def failures(self):
        """Hooks that did not end well, in the last run."""
        return [e for e in self.events() if e.get("subtype") == "hook_response" and e.get("exit_code")
                or e.get("plugin_errors")]

    def sessions(self):
        """The ids of the sessions there are, oldest first."""
        files = sorted(self.config.glob("projects/*/*.jsonl"), key=lambda path: path.stat().st_mtime)
        return [path.stem for path in files]

    def transcripts(self):
        """What the transcripts hold by now, as one text."""
        return "\n".join(path.read_text(encoding="utf-8") for path in self.config.glob("projects/*/*.jsonl"))

    def requests(self):
        """What the model was asked since the last look."""
        every = lines(self.out / "requests.jsonl")
        new, self.seen = every[self.seen:], len(every)
        return [entry for entry in new if entry["lane"] not in ("head", "get", "side", "count_tokens", "other")]

    def hooks(self):
        """The hooks that ended since the last look, in order."""
        log = self.data / "debug.log"
        every = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        new, self.logged = every[self.logged:], len(every)
        words = [line.split(" ") for line in new]
        return [DONE[word[1]] for word in words if word[2:] == ["done"]]

    def debug(self):
        log = self.data / "debug.log"
        return log.read_text(encoding="utf-8")[-3000:] if log.exists() else "no debug.log"


def given(request):
    """The memory a request to the model carries, as often as it does."""
    text = json.dumps(request["body"]["messages"], ensure_ascii=False)
    return text.count("<everos_memory>")


class Terminal:
    """Claude Code in a terminal of its own."""

    def __init__(self, claude, scenario, *arguments):
        self.claude = claude
        self.socket = "apkit-%d-%s" % (os.getpid(), claude.out.name)
        command = claude.command(scenario, *arguments, interactive=True)
        script = claude.out / "terminal.sh"
        claude.out.mkdir(exist_ok=True)
        script.write_text("exec " + " ".join("'%s'" % part.replace("'", "'\\''") for part in command) + "\n", encoding="utf-8")
        self.tmux("new-session", "-d", "-s", "cc", "-x", "150", "-y", "50", "bash '%s'" % script)
        self.ready = self.shows("for shortcuts", 30)

    def tmux(self, *words):
        return run(["tmux", "-L", self.socket, "-f", "/dev/null", *words]).stdout.decode(errors="replace")

    def screen(self):
        return self.tmux("capture-pane", "-p", "-t", "cc")

    def shows(self, text, seconds=15):
        return bool(poll(seconds, lambda: text in self.screen()))

    def press(self, *keys):
        self.tmux("send-keys", "-t", "cc", *keys)

    def enter(self, text):
        """Types a line. The terminal takes text that comes at once for pasted."""
        self.tmux("send-keys", "-t", "cc", "-l", text)
        poll(5, lambda: text in self.screen())
        time.sleep(0.3)
        self.press("Enter")

    def leave(self):
        self.enter("/exit")
        return poll(15, lambda: "cc" not in self.tmux("list-sessions"))

    def close(self):
        self.tmux("kill-server")


def install(args, url):
    """The exported marketplace, installed the way a user does it."""
    claude = Claude(args, "installed")
    memory = args.work / "the memory"
    run([args.apkit, "export", "builtin:everos", "--out", memory, "--marketplace"])
    for words in [["marketplace", "add", str(memory)], ["install", "everos@everos", "--config", "base_url=" + url]]:
        if claude.run("simple", "plugin", *words):
            sys.exit("claude plugin %s: %s" % (words, claude.stdout + claude.stderr))
    return claude
