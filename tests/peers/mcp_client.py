"""The same as mcp_client.mjs with the official Python SDK, 1.x or 2.x: prints the
negotiated version and what each step gave.

usage: python mcp_client.py STEPS COMMAND ARGUMENT...
STEPS is a JSON list of ["list"] and ["call", NAME, ARGUMENTS].
"""

import asyncio
import json
import os
import sys

import mcp


def plain(value):
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)


async def walk(session, steps):
    done = []
    for what, *more in steps:
        if what == "list":
            done.append(plain(await session.list_tools())["tools"])
            continue
        try:
            done.append({"result": plain(await session.call_tool(*more))})
        except Exception as error:  # noqa: BLE001: its class differs between the versions
            done.append({"error": {"code": getattr(getattr(error, "error", None), "code", None), "message": str(error)}})
    return done


async def main():
    steps, command = json.loads(sys.argv[1]), sys.argv[2:]
    server = mcp.StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))
    if hasattr(mcp, "Client"):
        # 2.x asks for the protocol without a handshake first.
        async with mcp.Client(server) as client:
            version, name = client.protocol_version, client.server_info.name
            done = await walk(client, steps)
    else:
        async with mcp.stdio_client(server) as streams, mcp.ClientSession(*streams) as session:
            answer = await session.initialize()
            version, name = answer.protocolVersion, answer.serverInfo.name
            done = await walk(session, steps)
    print(json.dumps({"version": version, "server": name, "steps": done}))


asyncio.run(main())
