#!/usr/bin/env python3
"""A server of a few tools with the official Python SDK, 1.x or 2.x.

usage: mcp_server.py [stdio | streamable-http PORT | sse PORT]
"""

import os
import sys

try:
    from mcp.server.mcpserver import MCPServer as Server
except ImportError:
    from mcp.server.fastmcp import FastMCP as Server

transport = sys.argv[1] if len(sys.argv) > 1 else "stdio"
options = {"port": int(sys.argv[2])} if len(sys.argv) > 2 else {}
# 1.x takes the port here, 2.x where it runs.
first = options if Server.__name__ == "FastMCP" else {}
server = Server("python-peer", **first)


@server.tool()
def shout(text: str) -> str:
    """The text in capitals."""
    return text.upper()


@server.tool()
def place() -> str:
    """The working directory."""
    return os.getcwd()


@server.tool()
def fail() -> str:
    """Fails."""
    raise ValueError("the tide is out")


server.run(transport, **({} if first else options))
