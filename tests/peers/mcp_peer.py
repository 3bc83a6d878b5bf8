"""What the MCP peer checks share: a user with the programs of npm and PyPI at hand,
`apkit mcp` run by that user, official clients, servers over HTTP, packages.

Needs Python 3.8 and its standard library only.
"""

import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys

from everos_peer import HERE, poll, run

PLUGIN = "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json"
MCP = "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json"


def package(path, name, servers, version="1.0.0"):
    """A package with these servers."""
    path.mkdir(parents=True, exist_ok=True)
    manifest = {"$schema": PLUGIN, "name": name, "version": version}
    (path / "plugin.json").write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
    (path / "mcp.json").write_text(json.dumps({"$schema": MCP, "mcpServers": servers}, indent=2) + "\n", encoding="utf-8")
    return path


class User:
    """A user of this machine: a home, the npm cache, the Python with the SDK."""

    def __init__(self, args):
        self.args = args
        self.home = args.work / "home"
        self.home.mkdir()
        (self.home / ".npm").symlink_to(args.cache / "mcp-npx")
        (self.home / ".npmrc").write_text("offline=true\nupdate-notifier=false\n", encoding="utf-8")
        self.bin = args.work / "bin"
        self.bin.mkdir()
        # A link would lose the environment that the interpreter belongs to.
        old = self.bin / "python-old"
        old.write_text('#!/bin/sh\nexec "%s/bin/python" "$@"\n' % args.old, encoding="utf-8")
        old.chmod(0o755)
        path = [self.bin, args.new / "bin", pathlib.Path(shutil.which("node")).parent, "/usr/bin", "/bin"]
        self.env = {
            "PATH": os.pathsep.join(str(part) for part in path), "HOME": str(self.home), "LANG": "C.UTF-8",
            # What no server may see.
            "TIDE_TOKEN": "zz_0123456789abcdef",
        }

    def apkit(self, *words, timeout=90, **env):
        """A run of apkit: the exit status, standard output, standard error."""
        done = run([self.args.apkit, *words], cwd=self.home, env=dict(self.env, **env), timeout=timeout)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def json(self, *words, **more):
        """The status and the JSON document that a run printed."""
        status, out, err = self.apkit(*words, "--json", **more)
        try:
            return status, json.loads(out)
        except ValueError:
            return status, {"stdout": out, "stderr": err}

    def started(self):
        """The command lines of all processes that apkit gave this user's data directories."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if b"\0PLUGIN_DATA=" + bytes(self.home) in b"\0" + (entry / "environ").read_bytes():
                    found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
            except OSError:
                pass
        return found

    def gone(self):
        return poll(5, lambda: not self.started())

    def sdk(self, version):
        return self.args.cache / "mcp-sdk/node_modules" / ("sdk-" + version)

    def typescript(self, version, steps, *target):
        """What a client of the TypeScript SDK saw of a command or an address."""
        return self.client(["node", HERE / "mcp_client.mjs", self.sdk(version), json.dumps(steps), *target])

    def python(self, venv, steps, *target):
        """The same with the Python SDK."""
        return self.client([venv / "bin/python", HERE / "mcp_client.py", json.dumps(steps), *target])

    def client(self, command):
        done = run(command, cwd=self.home, env=self.env, timeout=90)
        try:
            return json.loads(done.stdout.decode().strip().splitlines()[-1])
        except (ValueError, IndexError):
            sys.exit("%s: %s" % (command, done.stdout.decode() + done.stderr.decode()))


class Remote:
    """A server over HTTP, which can be stopped and started again on its port."""

    def __init__(self, user, name, *command, path):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.user, self.command = user, [str(part) for part in command]
        self.log = user.args.work / (name + ".log")
        self.url = "http://127.0.0.1:%d%s" % (self.port, path)
        self.start()

    def start(self):
        words = [word.replace("{port}", str(self.port)) for word in self.command]
        env = dict(self.user.env, PORT=str(self.port))
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(words, cwd=self.user.home, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        if not poll(30, self.listens):
            sys.exit("%s does not listen: %s" % (words, self.log.read_text(errors="replace")))

    def listens(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def stop(self):
        self.process.kill()
        self.process.wait()
