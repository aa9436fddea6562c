// @modelcontextprotocol/client 2.x.
import { createRequire } from 'node:module';
import { answers, capabilities, report } from './checks.mjs';

const row = JSON.parse(process.argv[2]);
const load = createRequire(row.modules + '/');
const { Client, SSEClientTransport, StreamableHTTPClientTransport } = load('@modelcontextprotocol/client');
const { StdioClientTransport } = load('@modelcontextprotocol/client/stdio');

const modern = row.revision >= '2026-07-28';
const mode = { legacy: 'legacy', auto: 'auto', pin: { pin: row.revision } }[row.mode];
const sdk = new Client({ name: 'interop', version: '1.0.0' }, {
  capabilities,
  versionNegotiation: { mode },
  ...(modern ? {} : { supportedProtocolVersions: [row.revision] }),
});
sdk.setRequestHandler('elicitation/create', request => answers.elicit(request.params));
sdk.setRequestHandler('sampling/createMessage', request => answers.sample(request.params));
sdk.setRequestHandler('roots/list', answers.roots);
const transport = {
  http: () => new StreamableHTTPClientTransport(new URL(row.url)),
  sse: () => new SSEClientTransport(new URL(row.url)),
  stdio: () => new StdioClientTransport({ command: row.command[0], args: row.command.slice(1), stderr: 'inherit' }),
}[row.transport]();

const client = {
  sdk,
  url: row.url,
  // It shows both codes as this one.
  notFound: -32602,
  logs: [],
  heard: [],
  progress: [],
  strays: [],
  async connect() {
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
    return { revision: sdk.getNegotiatedProtocolVersion(), server: sdk.getServerVersion() };
  },
  // Without a cursor the client walks all pages itself; on later ones the walk is ours.
  listPage: cursor => sdk.listTools(cursor === undefined ? undefined : { cursor }),
  call: (name, args, { meta, ...options } = {}) => sdk.callTool({ name, arguments: args, _meta: meta }, options),
  setLevel: level => sdk.setLoggingLevel(level),
  ping: () => sdk.ping(),
  async close() {
    if (row.transport === 'http' && !modern) await transport.terminateSession();
    await sdk.close();
  },
};
await report(client, row);
