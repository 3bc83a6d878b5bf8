"""Checks `apkit mcp` with real MCP servers and `apkit mcp serve` with real clients.

Run by mcp.sh. Needs Python 3.8 and its standard library only.
"""

import contextlib
import http.server
import json
import pathlib
import shutil
import subprocess
import sys
import threading

from everos_claude import Claude
from everos_peer import HERE, Checks, arguments, poll
from mcp_peer import Remote, User, package

SDK = ["2024-11-05", "2025-03-26", "2025-11-25"]


def servers(args, user):
    """Servers as authors write them: fetched by npx, brought along, on the PATH."""
    npx = lambda name, *more: {"type": "stdio", "command": "npx", "args": [
        "-y", "@modelcontextprotocol/server-%s@%s" % (name, args.servers), *more]}
    entries = {
        "everything": npx("everything"),
        "memory": dict(npx("memory"), env={"MEMORY_FILE_PATH": "${PLUGIN_DATA}/memory.json"}),
        "files": npx("filesystem", "${PLUGIN_DATA}"),
        "thinking": {"type": "stdio", "command": "node", "args": [
            "${PLUGIN_ROOT}/node_modules/@modelcontextprotocol/server-sequential-thinking/dist/index.js"]},
        "clock": {"type": "stdio", "command": "mcp-server-time", "args": ["--local-timezone", "Etc/UTC"]},
        "fetch": {"type": "stdio", "command": "python3", "args": ["-m", "mcp_server_fetch", "--allow-private-ips"]},
        # No interpreter is named, and the working directory is not there before.
        "python": {"type": "stdio", "command": "./bin/tide server.py", "cwd": "${PLUGIN_DATA}/state/deep"},
        "python-old": {"type": "stdio", "command": "python-old", "args": ["./bin/tide server.py"]},
    }
    for version in SDK:
        entries["typescript-" + version] = {
            "type": "stdio", "command": "node", "args": ["server.mjs", str(user.sdk(version))]}
    return entries


def toolbox(args, user):
    """The package with all of them, and what starts each without apkit."""
    entries = servers(args, user)
    path = package(args.work / "tool box", "toolbox", entries)
    shutil.copytree(args.cache / "mcp-bundle/node_modules", path / "node_modules", symlinks=True)
    shutil.copy(HERE / "mcp_server.mjs", path / "server.mjs")
    (path / "bin").mkdir()
    program = path / "bin/tide server.py"
    shutil.copy(HERE / "mcp_server.py", program)
    program.chmod(0o755)
    return path, entries


def texts(result):
    return [part.get("text") for part in (result or {}).get("content", [])]


def gate(c, user, path):
    c.part("the gate")
    status, document = user.json("mcp", "plan", path)
    states = {server["state"] for server in document.get("servers", [])}
    c.check("no program is started unless it is allowed: all are said to be off", states == {"disabled"}, document)
    status, out, err = user.apkit("mcp", "tools", path)
    c.check("and nothing is started then", "mcp__" not in out and not user.started(), out + err)
    status, document = user.json("mcp", "plan", path, "--allow-stdio")
    states = {server["state"] for server in document.get("servers", [])}
    c.check("the plan of what is allowed starts nothing either", states == {"on"} and not user.started(), document)


def stdio(c, args, user, path, entries):
    c.part("servers over stdio")
    status, document = user.json("mcp", "check", path, "--allow-stdio")
    seen = {server["name"]: server for server in document.get("servers", [])}
    c.check("every server answers the handshake", status == 0 and set(seen) == set(entries)
            and all(server["state"] == "ok" for server in seen.values()), document)
    versions = {name: server.get("protocol_version") for name, server in seen.items()}
    wanted = dict.fromkeys(entries, "2025-11-25")
    wanted.update({"python-old": "2025-06-18"}, **{"typescript-" + version: version for version in SDK})
    c.same("the version agreed on is the server's where that is older", versions, wanted)


def tools(c, args, user, path, entries):
    status, document = user.json("mcp", "tools", path, "--allow-stdio")
    listed = {server["name"]: server["tools"] for server in document.get("servers", [])}
    direct = {
        "everything": ["npx", *entries["everything"]["args"]],
        "memory": ["npx", *entries["memory"]["args"]],
        "clock": ["mcp-server-time", "--local-timezone", "Etc/UTC"],
        "python": [args.new / "bin/python", HERE / "mcp_server.py"],
    }
    for name, command in direct.items():
        official = user.typescript("2025-11-25", [["list"]], *command)["steps"][0]
        c.same("tools are listed as their server describes them: %s" % name,
               {tool["tool"]: tool["definition"] for tool in listed.get(name, [])},
               {tool["name"]: tool for tool in official})
    c.check("no process is left of it", user.gone(), user.started())


def calls(c, args, user, path):
    c.part("calls")

    def call(server, tool, arguments=None, **env):
        words = [] if arguments is None else ["--args", json.dumps(arguments)]
        return user.json("mcp", "call", path, server, tool, *words, "--allow-stdio", **env)

    status, result = call("everything", "echo", {"message": "high water, \u00e9bb \U0001f30a"})
    c.same("a tool is called and its answer shown", (status, texts(result)), (0, ["Echo: high water, \u00e9bb \U0001f30a"]))
    status, result = call("everything", "get-sum", {"a": 2, "b": 40})
    c.check("numbers arrive as numbers", status == 0 and "42" in texts(result)[0], result)
    status, result = call("everything", "get-structured-content", {"location": "New York"})
    c.check("structured content arrives", status == 0 and result.get("structuredContent", {}).get("temperature"), result)
    status, result = call("everything", "get-tiny-image")
    kinds = [part["type"] for part in result.get("content", [])]
    c.check("an image arrives", status == 0 and "image" in kinds, kinds)
    status, result = call("everything", "echo", {})
    c.check("a tool's own error is an error", status == 1 and result.get("isError"), (status, result))
    # The newer SDK keeps the reason to itself.
    for server, said in [("python", "Error executing tool fail"), ("python-old", "the tide is out")]:
        status, result = call(server, "fail")
        c.check("an error raised in a tool of the SDK is an error: %s" % server,
                status == 1 and result.get("isError") and said in json.dumps(result), (status, result))
    status, result = call("clock", "convert_time", {"source_timezone": "Etc/UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"})
    c.check("a server of PyPI answers", status == 0 and "21:00" in "".join(texts(result)), result)
    args_file = args.work / "arguments.json"
    args_file.write_text(json.dumps({"message": "from a file"}), encoding="utf-8")
    status, result = user.json("mcp", "call", path, "everything", "echo", "--args", "@%s" % args_file, "--allow-stdio")
    c.same("arguments come from a file", (status, texts(result)), (0, ["Echo: from a file"]))

    status, result = call("everything", "get-env")
    env = json.loads(texts(result)[0])
    c.check("the environment holds the package's two directories",
            env.get("PLUGIN_ROOT") == str(path.resolve()) and pathlib.Path(env.get("PLUGIN_DATA", "")).is_dir(), env)
    c.check("no secret of the user reaches a server", "zz_0123456789abcdef" not in json.dumps(env), env)
    data = pathlib.Path(env["PLUGIN_DATA"])

    status, result = call("python", "place")
    c.same("a working directory below the data is made", texts(result), [str(data / "state/deep")])
    status, result = call("python-old", "place")
    c.same("without cwd a server runs in the package", texts(result), [str(path.resolve())])
    status, result = call("files", "write_file", {"path": str(data / "notes.txt"), "content": "ebb\n"})
    c.check("a server writes to the data", status == 0 and (data / "notes.txt").read_text() == "ebb\n", result)
    status, result = call("files", "read_text_file", {"path": "/etc/hostname"})
    c.check("what a server refuses is refused", status == 1 and "denied" in json.dumps(result), (status, result))
    entity = {"name": "tide", "entityType": "thing", "observations": ["comes twice a day"]}
    call("memory", "create_entities", {"entities": [entity]})
    status, result = call("memory", "read_graph")
    c.check("what a server keeps outlives its process",
            "comes twice a day" in json.dumps(result) and (data / "memory.json").is_file(), result)
    status, result = call("thinking", "sequentialthinking", {
        "thought": "Think.", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1})
    c.check("a server that a package brings along answers", status == 0, result)

    # Of HTML it would fetch more than a page: a program of npm that reads it.
    page = b"High water at noon.\n"

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(404 if self.path == "/robots.txt" else 200)
            self.send_header("Content-Type", "text/plain")
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, *_):
            pass

    web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    status, result = call("fetch", "fetch", {"url": "http://127.0.0.1:%d/" % web.server_port})
    web.shutdown()
    c.check("the fetch server fetches", status == 0 and "High water at noon" in json.dumps(result), result)
    c.check("no server is left behind", user.gone(), user.started())


def installed(c, user, path):
    c.part("an installed package")
    status, out, err = user.apkit("import", path)
    c.check("the package is imported", status == 0, out + err)
    status, result = user.json("mcp", "call", "toolbox", "everything", "get-env", "--allow-stdio")
    env = json.loads(texts(result)[0]) if status == 0 else {}
    store = user.home / ".agents"
    c.same("its root and its data are those of the store",
           (env.get("PLUGIN_ROOT"), env.get("PLUGIN_DATA")),
           (str(store / "plugins/toolbox"), str(store / "plugin-data/toolbox")))
    status, out, err = user.apkit("verify")
    c.check("no server has changed the package", status == 0, out + err)


def remote(c, args, user):
    c.part("servers over HTTP")
    everything = args.cache / "mcp-everything/node_modules/@modelcontextprotocol/server-everything/dist/index.js"
    old = user.bin / "python-old"
    peers = {
        "ts-http": ("streamable-http", Remote(user, "ts-http", "node", everything, "streamableHttp", path="/mcp")),
        "ts-sse": ("sse", Remote(user, "ts-sse", "node", everything, "sse", path="/sse")),
        "py-http": ("streamable-http", Remote(
            user, "py-http", args.new / "bin/python", HERE / "mcp_server.py", "streamable-http", "{port}", path="/mcp")),
        "py-sse": ("sse", Remote(user, "py-sse", args.new / "bin/python", HERE / "mcp_server.py", "sse", "{port}", path="/sse")),
        "old-http": ("streamable-http", Remote(
            user, "old-http", old, HERE / "mcp_server.py", "streamable-http", "{port}", path="/mcp")),
        "old-sse": ("sse", Remote(user, "old-sse", old, HERE / "mcp_server.py", "sse", "{port}", path="/sse")),
    }
    entries = {name: {"type": kind, "url": peer.url, "headers": {"X-Tide": "high"}} for name, (kind, peer) in peers.items()}
    # Nobody is there, and it costs nobody else.
    entries["nobody"] = {"type": "streamable-http", "url": "http://127.0.0.1:9/mcp"}
    path = package(args.work / "remote", "remote-tools", entries)
    status, document = user.json("mcp", "check", path)
    seen = {server["name"]: server for server in document.get("servers", [])}
    c.check("Streamable HTTP and HTTP+SSE servers of both SDKs answer the handshake",
            all(seen.get(name, {}).get("state") == "ok" for name in peers), document)
    c.check("a server that is not there fails alone", status == 1 and seen.get("nobody", {}).get("state") == "failed", document)
    versions = {name: seen.get(name, {}).get("protocol_version") for name in peers}
    c.same("over HTTP the older version counts, too", versions, {
        "ts-http": "2025-11-25", "ts-sse": "2025-11-25", "py-http": "2025-11-25", "py-sse": "2025-11-25",
        "old-http": "2025-06-18", "old-sse": "2025-06-18"})
    for name in ["ts-http", "ts-sse"]:
        status, result = user.json("mcp", "call", path, name, "echo", "--args", '{"message": "x"}')
        c.same("the TypeScript SDK answers calls over HTTP: %s" % name, (status, texts(result)), (0, ["Echo: x"]))
        status, result = user.json("mcp", "call", path, name, "trigger-long-running-operation",
                                   "--args", '{"duration": 1, "steps": 4}')
        c.check("an answer that takes its time arrives: %s" % name, status == 0 and "completed" in json.dumps(result), result)
    for name in ["py-http", "py-sse", "old-http", "old-sse"]:
        status, result = user.json("mcp", "call", path, name, "shout", "--args", '{"text": "x"}')
        c.same("the Python SDK answers calls over HTTP: %s" % name, (status, texts(result)), (0, ["X"]))
    return path, peers


def clients(c, args, user, path, far, peers):
    c.part("apkit mcp serve and official clients")
    # A dozen servers, some by npx, start at once; how long that takes is the machine's affair.
    command = [args.apkit, "mcp", "serve", path, far, "--allow-stdio", "--wait", "60"]
    steps = [["list"], ["call", "mcp__everything__echo", {"message": "x"}], ["call", "mcp__py-sse__shout", {"text": "x"}],
             ["call", "mcp__python-old__fail", {}], ["call", "mcp__everything__nothing", {}]]
    seen = {}
    for version in SDK:
        seen["typescript " + version] = user.typescript(version, steps, *command)
    seen["python new"] = user.python(args.new, steps, *command)
    seen["python old"] = user.python(args.old, steps, *command)
    c.same("each client gets the version it asks for", {name: run["version"] for name, run in seen.items()}, dict(
        {"typescript " + version: version for version in SDK}, **{"python new": "2025-11-25", "python old": "2025-06-18"}))
    names = {name: sorted(tool["name"] for tool in run["steps"][0]) for name, run in seen.items()}
    first = names["typescript 2025-11-25"]
    c.check("the tools of all servers are offered under their names", all(
        "mcp__%s__%s" % pair in first for pair in [
            ("everything", "echo"), ("memory", "read_graph"), ("clock", "convert_time"), ("fetch", "fetch"),
            ("ts-sse", "echo"), ("old-http", "shout"), ("typescript-2024-11-05", "shout")]), first)
    c.check("each client gets the same tools", all(other == first for other in names.values()), names)
    for name, run in seen.items():
        answers = run["steps"]
        c.same("a client calls tools through it: %s" % name,
               [texts(answers[at].get("result")) for at in (1, 2)], [["Echo: x"], ["X"]])
        c.check("and is told their errors: %s" % name,
                "the tide is out" in json.dumps(answers[3]) and answers[3].get("result", {}).get("isError"), answers[3])
        c.check("and that there is no such tool: %s" % name, "error" in answers[4] or answers[4]["result"].get("isError"),
                answers[4])
    run = user.typescript("2025-11-25", [
        ["call", "mcp__everything__trigger-long-running-operation", {"duration": 2, "steps": 4}],
        ["cancel", "mcp__everything__trigger-long-running-operation", {"duration": 60, "steps": 2}, 500],
        ["call", "mcp__everything__echo", {"message": "after"}],
    ], *command)["steps"]
    c.check("progress is passed on", run[0]["progress"] >= 3 and "completed" in json.dumps(run[0]), run[0])
    c.check("a cancelled call is over and the next one is answered",
            "error" in run[1] and texts(run[2].get("result")) == ["Echo: after"], run[1:])
    limited = command + ["--allowed-tools", "mcp__everything__echo mcp__clock__*"]
    run = user.typescript("2025-11-25", [["list"], ["call", "mcp__memory__read_graph", {}]], *limited)["steps"]
    c.same("only what is allowed is offered", sorted(tool["name"] for tool in run[0]),
           ["mcp__clock__convert_time", "mcp__clock__get_current_time", "mcp__everything__echo"])
    c.check("and only that can be called", "error" in run[1] or run[1]["result"].get("isError"), run[1])
    peers["py-http"][1].stop()
    run = user.typescript("2025-11-25", [["list"], ["call", "mcp__everything__echo", {"message": "x"}]], *command)["steps"]
    c.check("a server that is gone takes no other along", texts(run[1].get("result")) == ["Echo: x"]
            and not [tool for tool in run[0] if tool["name"].startswith("mcp__py-http__")], run)
    c.check("when a client leaves, all servers are gone", user.gone(), user.started())


def killed(c, args, user, path):
    """A host that is killed, and apkit with it, ends nothing in good order."""
    serving = subprocess.Popen([str(args.apkit), "mcp", "serve", str(path), "--allow-stdio"], cwd=user.home, env=user.env,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    started = poll(20, lambda: len(user.started()) >= len(SDK))
    serving.kill()
    serving.wait()
    c.check("two seconds after apkit is killed no server is left",
            started and poll(2, lambda: not user.started()), user.started())


def claude(c, args, user, path):
    c.part("apkit mcp serve and Claude Code")
    host = Claude(args, "host")
    config = args.work / "mcp-config.json"
    # Claude Code waits two seconds for the tools; what comes later is announced to it.
    server = {"command": str(args.apkit), "args": ["mcp", "serve", str(path), "--allow-stdio"],
              "env": {name: user.env[name] for name in ("PATH", "HOME")}}
    config.write_text(json.dumps({"mcpServers": {"apkit": server}}), encoding="utf-8")
    uses = [("Bash", {"command": "sleep 8"}),
            ("mcp__apkit__mcp__everything__echo", {"message": "high water"}),
            ("mcp__apkit__mcp__python-old__fail", {})]
    turns = [{"blocks": [{"type": "tool_use", "name": name, "input": given}]} for name, given in uses]
    scenario = {"name": "through-apkit", "turns": turns + [{"blocks": [{"type": "text", "text": "Done."}]}]}
    status = host.ask(scenario, "Ask the servers", "--mcp-config", str(config), "--strict-mcp-config",
                      "--allowedTools", "mcp__apkit,Bash")
    requests = host.requests()
    init = [event for event in host.events() if event.get("subtype") == "init"]
    c.check("Claude Code connects to apkit", status == 0 and init
            and init[0]["mcp_servers"] == [{"name": "apkit", "status": "connected"}], (status, init, host.stderr))
    offered = [tool["name"] for tool in requests[1]["body"]["tools"]] if len(requests) > 1 else []
    c.check("the model is offered the tools of the package's servers, late ones too",
            all(name in offered for name, _ in uses), offered)
    results = [part for request in requests[2:] for part in request["body"]["messages"][-1]["content"]
               if isinstance(part, dict) and part.get("type") == "tool_result"]
    c.check("a tool that the model uses is called and its answer reaches the model",
            results and "Echo: high water" in json.dumps(results[0]), results)
    c.check("a tool's error reaches the model as one",
            len(results) > 1 and results[1].get("is_error") and "the tide is out" in json.dumps(results[1]), results)
    c.check("when Claude Code ends, all servers are gone", user.gone(), user.started())


def main():
    args = arguments(servers={"required": True}, new={"type": pathlib.Path, "required": True},
                     old={"type": pathlib.Path, "required": True})
    c = Checks()
    user = User(args)
    path, entries = toolbox(args, user)
    gate(c, user, path)
    stdio(c, args, user, path, entries)
    tools(c, args, user, path, entries)
    calls(c, args, user, path)
    installed(c, user, path)
    with contextlib.ExitStack() as stack:
        far, peers = remote(c, args, user)
        for _, peer in peers.values():
            stack.callback(peer.stop)
        clients(c, args, user, path, far, peers)
    killed(c, args, user, path)
    if (args.shared / "claude-code/run_claude.sh").is_file():
        claude(c, args, user, path)
    else:
        print("SKIPPED: nothing was tried with Claude Code, since %s is not there" % (args.shared / "claude-code"))
    sys.exit(c.finish())


main()
