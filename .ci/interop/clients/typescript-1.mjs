// @modelcontextprotocol/sdk 1.x. It always offers its newest revision; the older ones it accepts are offered by rewriting that one
// string on its way out.
import { createRequire } from 'node:module';
import { answers, capabilities, report } from './checks.mjs';

const row = JSON.parse(process.argv[2]);
const load = createRequire(row.modules + '/');
const { Client } = load('@modelcontextprotocol/sdk/client/index.js');
const { StreamableHTTPClientTransport } = load('@modelcontextprotocol/sdk/client/streamableHttp.js');
const { SSEClientTransport } = load('@modelcontextprotocol/sdk/client/sse.js');
const { StdioClientTransport } = load('@modelcontextprotocol/sdk/client/stdio.js');
const types = load('@modelcontextprotocol/sdk/types.js');

const sdk = new Client({ name: 'interop', version: '1.0.0' }, { capabilities });
sdk.setRequestHandler(types.ElicitRequestSchema, request => answers.elicit(request.params));
sdk.setRequestHandler(types.CreateMessageRequestSchema, request => answers.sample(request.params));
sdk.setRequestHandler(types.ListRootsRequestSchema, answers.roots);
const transport = {
  http: () => new StreamableHTTPClientTransport(new URL(row.url)),
  sse: () => new SSEClientTransport(new URL(row.url)),
  stdio: () => new StdioClientTransport({ command: row.command[0], args: row.command.slice(1), stderr: 'inherit' }),
}[row.transport]();
const send = transport.send.bind(transport);
transport.send = (message, options) => {
  if (message.method === 'initialize') message = { ...message, params: { ...message.params, protocolVersion: row.revision } };
  return send(message, options);
};

const client = {
  sdk,
  url: row.url,
  logs: [],
  heard: [],
  progress: [],
  strays: [],
  async connect() {
    let agreed;
    const setVersion = transport.setProtocolVersion?.bind(transport);
    transport.setProtocolVersion = version => {
      agreed = version;
      setVersion?.(version);
    };
    await sdk.connect(transport);
    const handle = transport.onmessage;
    transport.onmessage = (message, extra) => {
      if (message.method === 'notifications/message') client.logs.push(message.params);
      if (message.method === 'notifications/progress') client.progress.push(message.params);
      if (message.method && message.id === undefined) client.heard.push(message);
      handle(message, extra);
    };
    sdk.onerror = error => {
      if (error.message.includes('unknown message ID')) client.strays.push(error.message);
    };
    client.session = transport.sessionId;
    // What the stream said to POST to is nowhere else to be had.
    if (row.transport === 'sse') client.messages = transport._endpoint?.href;
    return { revision: agreed, server: sdk.getServerVersion() };
  },
  listPage: cursor => sdk.listTools(cursor === undefined ? undefined : { cursor }),
  call: (name, args, { meta, ...options } = {}) => sdk.callTool({ name, arguments: args, _meta: meta }, undefined, options),
  setLevel: level => sdk.setLoggingLevel(level),
  ping: () => sdk.ping(),
  async close() {
    if (row.transport === 'http') await transport.terminateSession();
    await sdk.close();
  },
};
await report(client, row);
