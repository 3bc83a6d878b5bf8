"""Writes plugins to export, one directory each, below the directory that is named."""

import json
import pathlib
import sys

SKILL = "---\nname: {0}\ndescription: Tells about {0}. Use it for questions about it.\n---\n\nLook it up.\n"
ABOUT = {
    "version": "1.2.0",
    "description": "Tides.",
    "author": {"name": "A", "email": "a@b.example"},
    "license": "MIT",
}
# A server that answers nothing is enough: clients list what is configured.
SERVER = "#!/bin/sh\nexec sleep 5\n"
HOOK = '#!/bin/sh\ncat >/dev/null\necho \'{}\'\n'


def hooks(root):
    command = {"type": "command", "command": f'"${{{root}}}/hooks/start.sh"'}
    return {"hooks": {"SessionStart": [{"hooks": [command]}]}}


def plugins():
    skills = {f"skills/{name}/SKILL.md": SKILL.format(name) for name in ("tides", "ebb")}
    yield "from-claude", {
        ".claude-plugin/plugin.json": {"name": "from-claude", **ABOUT},
        "commands/look.md": "---\ndescription: Look.\n---\n\nLook.\n",
        "agents/pilot.md": "---\nname: pilot\ndescription: Pilots.\n---\n\nPilot.\n",
        "hooks/hooks.json": hooks("CLAUDE_PLUGIN_ROOT"),
        "hooks/start.sh": HOOK,
        ".mcp.json": {
            "mcpServers": {
                "own": {
                    "command": "${CLAUDE_PLUGIN_ROOT}/bin/server",
                    "args": ["--data", "${CLAUDE_PLUGIN_DATA}"],
                },
                "far": {"type": "http", "url": "https://tides.example/mcp", "headers": {"Authorization": "${KEY}"}},
            }
        },
        "bin/server": SERVER,
        **skills,
    }
    yield "from-codex", {
        ".codex-plugin/plugin.json": {"name": "from-codex", **ABOUT, "hooks": "./hooks/hooks.json"},
        "hooks/hooks.json": hooks("CLAUDE_PLUGIN_ROOT"),
        "hooks/start.sh": HOOK,
        ".mcp.json": {"mcpServers": {"own": {"command": "sh", "args": ["./bin/server"], "cwd": "."}}},
        "bin/server": SERVER,
        **skills,
    }
    yield "from-copilot", {
        ".github/plugin/plugin.json": {"name": "from-copilot", **ABOUT, "hooks": "./hooks.json"},
        "hooks.json": {"version": 1, **hooks("COPILOT_PLUGIN_ROOT")},
        "hooks/start.sh": HOOK,
        ".mcp.json": {"mcpServers": {"own": {"type": "local", "command": "sh", "args": ["./bin/server"], "tools": ["*"]}}},
        "bin/server": SERVER,
        **skills,
    }
    yield "from-package", {
        "plugin.json": {
            "$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json",
            "name": "from-package",
            **ABOUT,
        },
        "mcp.json": {
            "$schema": "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json",
            "mcpServers": {
                "own": {"type": "stdio", "command": "./bin/server", "args": ["${PLUGIN_ROOT}/bin/server"], "env": {"DATA": "${PLUGIN_DATA}"}},
                "old": {"type": "sse", "url": "https://tides.example/sse"},
            },
        },
        "bin/server": SERVER,
        **skills,
    }


def main():
    for name, files in plugins():
        for path, content in files.items():
            target = pathlib.Path(sys.argv[1]) / name / path
            target.parent.mkdir(parents=True, exist_ok=True)
            if not isinstance(content, str):
                content = json.dumps(content, indent=2) + "\n"
            target.write_text(content, encoding="utf-8")
            if content.startswith("#!"):
                target.chmod(0o755)


main()
