"""The MCP server of @NAME@: one tool, over standard input and output.

It needs Python 3.8 and nothing else. Messages are JSON, one on a line; nothing but
messages may be written to standard output. Add tools to TOOLS and to call().
"""

import json
import sys

TOOLS = [
    {
        "name": "count_words",
        "description": "Counts the words of a text.",
        "inputSchema": {
            "type": "object",
            "properties": {"text": {"type": "string"}},
            "required": ["text"],
        },
    },
]


def call(name, arguments):
    """Runs a tool and gives its result as text."""
    if name == "count_words":
        return str(len(arguments["text"].split()))
    raise ValueError("there is no tool " + repr(name))


def answer(method, parameters):
    """The result of a request, or None for a method that is not known."""
    if method == "initialize":
        return {
            "protocolVersion": parameters["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "@NAME@", "version": "0.1.0"},
        }
    if method == "ping":
        return {}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        try:
            text = call(parameters["name"], parameters.get("arguments", {}))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            return {"content": [{"type": "text", "text": str(error)}], "isError": True}
        return {"content": [{"type": "text", "text": text}]}
    return None


def main():
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "id" not in message or "method" not in message:
            continue
        result = answer(message["method"], message.get("params", {}))
        reply = {"jsonrpc": "2.0", "id": message["id"]}
        if result is None:
            reply["error"] = {"code": -32601, "message": "method not found"}
        else:
            reply["result"] = result
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
