// Talks to an MCP server with an official TypeScript SDK and prints, as JSON, the
// negotiated version and what each step gave.
//
// usage: node mcp_client.mjs SDK STEPS (URL | COMMAND ARGUMENT...)
// SDK is the directory of the package, STEPS a JSON list of
//   ["list"]                     the tools
//   ["call", NAME, ARGUMENTS]    {"result": ...} or {"error": {"code", "message"}},
//                                with "progress": how often it was told
//   ["cancel", NAME, ARGUMENTS, MILLISECONDS]  a call that is given up
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [sdk, steps, ...target] = process.argv.slice(2);
const load = (file) => import(pathToFileURL(join(sdk, "dist/esm", file)).href);

const { Client } = await load("client/index.js");
let transport;
if (/^https?:/.test(target[0])) {
  const { StreamableHTTPClientTransport } = await load("client/streamableHttp.js");
  transport = new StreamableHTTPClientTransport(new URL(target[0]));
} else {
  const { StdioClientTransport } = await load("client/stdio.js");
  // The whole environment: what reaches the server's servers is the server's to say.
  transport = new StdioClientTransport({ command: target[0], args: target.slice(1), env: process.env });
}

// No version of the SDK tells what was negotiated, so the answer is read on its way in.
const seen = { version: null, server: null, steps: [] };
const start = transport.start.bind(transport);
transport.start = async () => {
  const inner = transport.onmessage;
  transport.onmessage = (message, ...more) => {
    if (message.result?.protocolVersion) {
      seen.version = message.result.protocolVersion;
      seen.server = message.result.serverInfo.name;
    }
    inner(message, ...more);
  };
  await start();
};

const client = new Client({ name: "peer", version: "1.0.0" }, { capabilities: {} });
await client.connect(transport);
for (const [what, name, args, after] of JSON.parse(steps)) {
  if (what === "list") {
    const tools = [];
    let cursor;
    do {
      const page = await client.listTools(cursor ? { cursor } : {});
      tools.push(...page.tools);
      cursor = page.nextCursor;
    } while (cursor);
    seen.steps.push(tools);
    continue;
  }
  let progress = 0;
  const options = { onprogress: () => (progress += 1), timeout: 30000 };
  if (what === "cancel") options.signal = AbortSignal.timeout(after);
  try {
    const result = await client.callTool({ name, arguments: args }, undefined, options);
    seen.steps.push({ result, progress });
  } catch (error) {
    seen.steps.push({ error: { code: error.code ?? null, message: String(error.message ?? error) }, progress });
  }
}
await client.close();
console.log(JSON.stringify(seen));
