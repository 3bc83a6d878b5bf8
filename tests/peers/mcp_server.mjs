// A server of one tool with an official TypeScript SDK, over stdio.
//
// usage: node mcp_server.mjs SDK, the directory of the package
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const sdk = process.argv[2];
const load = (file) => import(pathToFileURL(join(sdk, "dist/esm", file)).href);
const { McpServer } = await load("server/mcp.js");
const { StdioServerTransport } = await load("server/stdio.js");
const { z } = createRequire(join(sdk, "package.json"))("zod");

const server = new McpServer({ name: "typescript-peer", version: "1.0.0" });
server.tool("shout", { text: z.string() }, async ({ text }) => ({
  content: [{ type: "text", text: text.toUpperCase() }],
}));
await server.connect(new StdioServerTransport());
