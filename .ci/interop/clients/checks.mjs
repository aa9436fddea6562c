// The checks of ../operations.mjs, written once for both TypeScript SDKs.
//
// A client gives: `connect()` -> {revision, server}, `listPage(cursor)`, `call(name, arguments, {onprogress, signal, meta})`,
// `setLevel(level)`, `ping()`, `close()`, and the arrays `logs`, `progress` and
// `strays` with what arrived: log and progress notifications, and answers that no call waits for.
import { setTimeout as delay } from 'node:timers/promises';

const expectedTools = [
  'echo', 'add', 'sleep', 'panic', 'test_simple_text', 'test_image_content', 'test_audio_content', 'test_embedded_resource',
  'test_multiple_content_types', 'test_tool_with_logging', 'test_error_handling', 'test_tool_with_progress',
  'json_schema_2020_12_tool', 'test_custom_header', 'test_missing_capability', 'test_logging_tool',
];

export class Failed extends Error {}

export function want(condition, message) {
  if (!condition) throw new Failed(message);
}

const show = value => JSON.stringify(value)?.slice(0, 400);
const texts = result => result.content.filter(block => block.type === 'text').map(block => block.text);

function within(ms, promise, what) {
  const late = delay(ms, undefined, { ref: false }).then(() => {
    throw new Failed(`${what}: nothing within ${ms} ms`);
  });
  return Promise.race([promise, late]);
}

async function rejection(promise, what) {
  let result;
  try {
    result = await promise;
  } catch (error) {
    return error;
  }
  throw new Failed(`${what}: expected an error, got the result ${show(result)}`);
}

async function echoes(client, message) {
  const result = await client.call('echo', { message });
  want(!result.isError && result.content.length === 1, `echo: expected one block, got ${show(result)}`);
  want(result.content[0].text === message, `echo: expected ${show(message)}, got ${show(result.content[0])}`);
}

export function checks(client, { revision, transport }) {
  const modern = revision >= '2026-07-28';
  return {
    async connect() {
      const got = await client.connect();
      want(got.revision === revision, `expected revision ${revision}, got ${got.revision}`);
      want(got.server?.name, `expected a server name, got ${show(got.server)}`);
    },
    async list() {
      const tools = [];
      let cursor;
      do {
        const page = await client.listPage(cursor);
        tools.push(...page.tools);
        cursor = page.nextCursor;
        want(tools.length < 1000, 'tools/list never ends');
      } while (cursor !== undefined);
      const names = tools.map(tool => tool.name);
      want(new Set(names).size === names.length, `duplicate tools: ${names}`);
      const missing = expectedTools.filter(name => !names.includes(name));
      want(missing.length === 0, `tools missing: ${missing}`);
      for (const tool of tools) want(tool.description && tool.inputSchema?.type === 'object', `bad tool: ${show(tool)}`);
      const add = tools.find(tool => tool.name === 'add');
      if (revision >= '2025-06-18') want(add.outputSchema?.type === 'object', `add has no outputSchema: ${show(add)}`);
      else want(add.outputSchema === undefined, `outputSchema is not part of ${revision}: ${show(add)}`);
    },
    async call() {
      for (const message of ['hello', '', 'Grüße, 世界 🦀 "q" \\ \n\t\u0001\u2028 </script>', 'x'.repeat(client.longest ?? 200_000)]) await echoes(client, message);
    },
    async structured() {
      const result = await client.call('add', { a: 2, b: 3.5 });
      want(!result.isError && texts(result).some(text => text.includes('5.5')), `expected a text block with 5.5, got ${show(result)}`);
      if (revision >= '2025-06-18') want(result.structuredContent?.sum === 5.5, `expected structuredContent {"sum":5.5}, got ${show(result)}`);
      else want(result.structuredContent === undefined, `structuredContent is not part of ${revision}, got ${show(result)}`);
    },
    async content() {
      const types = async (name, ...expected) => {
        const result = await client.call(name, {});
        const got = result.content.map(block => block.type);
        want(!result.isError && got.join() === expected.join(), `${name}: expected ${expected}, got ${show(result)}`);
        return result.content;
      };
      const [text] = await types('test_simple_text', 'text');
      want(text.text === 'This is a simple text response for testing.', `test_simple_text: got ${show(text)}`);
      const [image] = await types('test_image_content', 'image');
      want(image.mimeType === 'image/png' && Buffer.from(image.data, 'base64').subarray(1, 4).toString() === 'PNG', `not a PNG: ${show(image)}`);
      if (revision >= '2025-03-26') {
        const [audio] = await types('test_audio_content', 'audio');
        want(audio.mimeType === 'audio/wav' && Buffer.from(audio.data, 'base64').subarray(0, 4).toString() === 'RIFF', `not a WAV: ${show(audio)}`);
      } else {
        const result = await client.call('test_audio_content', {});
        want(result.content.every(block => block.type !== 'audio'), `audio is not part of ${revision}, got ${show(result)}`);
      }
      const [embedded] = await types('test_embedded_resource', 'resource');
      want(embedded.resource.uri === 'test://embedded-resource' && embedded.resource.text, `test_embedded_resource: got ${show(embedded)}`);
      await types('test_multiple_content_types', 'text', 'image', 'resource');
      const error = await client.call('test_error_handling', {});
      want(error.isError === true && texts(error)[0] === 'This tool intentionally returns an error for testing', `test_error_handling: got ${show(error)}`);
    },
    async progress() {
      const seen = [];
      const result = await client.call('sleep', { ms: 600 }, { onprogress: progress => seen.push(progress.progress) });
      want(!result.isError && texts(result).length > 0, `sleep: got ${show(result)}`);
      want(seen.length > 0, 'no progress arrived');
      want(seen.every((value, i) => i === 0 || value > seen[i - 1]), `progress does not increase: ${seen}`);
    },
    async cancel() {
      const abort = new AbortController();
      const call = rejection(client.call('sleep', { ms: 30_000 }, { signal: abort.signal, onprogress() {} }), 'cancelled sleep');
      await delay(300);
      abort.abort('not needed any more');
      await within(2000, call, 'cancelled sleep');
      await within(2000, echoes(client, 'after cancel'), 'echo after cancel');
      await delay(300);
      const before = client.progress.length;
      await delay(500);
      want(client.progress.length === before, `the cancelled sleep still reports progress: ${show(client.progress.at(-1))}`);
      want(client.strays.length === 0, `the cancelled sleep was answered: ${show(client.strays)}`);
    },
    async parallel() {
      let slept = false;
      const sleep = client.call('sleep', { ms: 1500 }).then(() => (slept = true));
      await Promise.all(Array.from({ length: 8 }, (_, i) => echoes(client, `message ${i}`)));
      want(!slept, 'the calls were only answered after the sleep');
      await sleep;
    },
    async unknown() {
      const error = await rejection(client.call('no_such_tool', {}), 'unknown tool');
      want(error.code === -32602, `expected -32602, got ${error.code} ${error.message}`);
      want(error.message.includes('no_such_tool'), `the message does not name the tool: ${error.message}`);
    },
    async invalid() {
      for (const [name, args] of [['echo', { message: 5 }], ['add', { a: 1 }]]) {
        const result = await client.call(name, args);
        want(result.isError === true && texts(result)[0], `${name} ${show(args)}: expected isError with a text, got ${show(result)}`);
      }
    },
    async panic() {
      const error = await rejection(client.call('panic', {}), 'panic');
      want(error.code === -32603, `expected -32603, got ${error.code} ${error.message}`);
      await echoes(client, 'after panic');
    },
    async logging() {
      const run = async level => {
        client.logs.length = 0;
        const meta = modern && level ? { 'io.modelcontextprotocol/logLevel': level } : undefined;
        if (!modern && level) await client.setLevel(level);
        await client.call('test_tool_with_logging', {}, { meta });
        await delay(200);
        return client.logs;
      };
      const logs = [...(await run('debug'))];
      want(logs.length === 3 && logs.every(log => log.level === 'info'), `expected 3 info messages, got ${show(logs)}`);
      want((await run('error')).length === 0, `level error: expected no messages, got ${show(client.logs)}`);
      if (modern) want((await run()).length === 0, `no level: expected no messages, got ${show(client.logs)}`);
    },
    async header() {
      for (const value of ['plain', 'Grüße, 世界', ' padded ', '=?base64?']) {
        const result = await client.call('test_custom_header', { value });
        want(!result.isError && texts(result).length > 0, `value ${show(value)}: got ${show(result)}`);
      }
    },
    async ping() {
      if (!modern) await client.ping();
    },
    async close() {
      const { url, session, messages } = client;
      await within(5000, client.close(), 'close');
      if (transport === 'sse') return closedStream(messages);
      if (transport !== 'http' || modern) return;
      want(session, 'the server gave no session id');
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', 'mcp-session-id': session, 'mcp-protocol-version': revision },
        body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
      });
      want(response.status === 404, `a request on the closed session: expected 404, got ${response.status}`);
    },
  };
}

// The server notices the end of a stream a moment later.
async function closedStream(messages) {
  want(messages, 'the stream did not say where to POST');
  const body = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
  let response;
  for (const end = Date.now() + 5000; Date.now() < end; await delay(20)) {
    response = await fetch(messages, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    if (response.status !== 202) break;
  }
  want(response.status === 404, `a request after the stream was closed: expected 404, got ${response.status}`);
}

// Runs all checks but `holes`, printing one JSON line each.
export async function report(client, row) {
  for (const [operation, check] of Object.entries(checks(client, row))) {
    if (row.holes.includes(operation)) continue;
    let reason;
    try {
      await within(20_000, check(), operation);
    } catch (error) {
      reason = error instanceof Failed ? error.message : `${error?.name}: ${error?.message} ${error?.code ?? ''} ${error?.cause ?? ''}`;
    }
    console.log(JSON.stringify({ operation, ok: reason === undefined, reason }));
    if (operation === 'connect' && reason) break;
  }
  process.exit(0);
}
