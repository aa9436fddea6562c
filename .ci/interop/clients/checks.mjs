// The checks of ../operations.mjs, written once for both TypeScript SDKs.
//
// A client gives: `connect()` -> {revision, server}, `listPage(cursor)`, `call(name, arguments, {onprogress, signal, meta})`,
// `setLevel(level)`, `ping()`, `close()`, `sdk` itself, where both call a thing alike, and the arrays `logs`, `progress`, `heard` and
// `strays` with what arrived: log, progress and other notifications, and answers that no call waits for. It asks `answers` what to
// say to the server's requests.
import { setTimeout as delay } from 'node:timers/promises';

const expectedTools = [
  'echo', 'add', 'sleep', 'panic', 'test_simple_text', 'test_image_content', 'test_audio_content', 'test_embedded_resource',
  'test_multiple_content_types', 'test_tool_with_logging', 'test_error_handling', 'test_tool_with_progress',
  'json_schema_2020_12_tool', 'test_custom_header', 'test_missing_capability', 'test_logging_tool', 'test_sampling', 'test_elicitation',
  'test_trigger_tool_change', 'test_trigger_prompt_change', 'touch',
];

const watched = 'test://watched-resource';
const filled = { username: 'ada', email: 'ada@example.org', name: 'Ada', color: 'blue', context: 'cats' };

// What the user, the model and the file system behind the client say.
export const answers = {
  elicit({ message, requestedSchema }) {
    if (message === 'Say no') return { action: 'decline' };
    const fields = Object.keys(requestedSchema.properties);
    return { action: 'accept', content: Object.fromEntries(fields.map(field => [field, filled[field]])) };
  },
  sample({ messages, maxTokens }) {
    const asked = [messages[0].content].flat()[0].text;
    return { role: 'assistant', model: 'none', stopReason: 'endTurn', content: { type: 'text', text: `${asked} (${maxTokens})` } };
  },
  roots: () => ({ roots: [{ uri: 'file:///home/ada/notes', name: 'notes' }, { uri: 'file:///home/ada/music' }] }),
};

export const capabilities = { sampling: {}, elicitation: { form: {} }, roots: { listChanged: true } };

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

async function until(ms, test, what) {
  for (const end = Date.now() + ms; Date.now() < end; await delay(20)) if (test()) return;
  throw new Failed(`${what}: nothing within ${ms} ms`);
}

async function pages(list, key) {
  const items = [];
  let cursor;
  do {
    const page = await list(cursor === undefined ? undefined : { cursor });
    items.push(...page[key]);
    cursor = page.nextCursor;
    want(items.length < 1000, `the list of ${key} never ends`);
  } while (cursor !== undefined);
  return items;
}

async function says(client, name, args, expected) {
  const result = await client.call(name, args);
  want(!result.isError && texts(result)[0] === expected, `${name} ${show(args)}: expected ${show(expected)}, got ${show(result)}`);
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
    async resources() {
      const resources = await pages(cursor => client.sdk.listResources(cursor), 'resources');
      const types = Object.fromEntries(resources.map(resource => [resource.uri, resource.mimeType]));
      const expected = { 'test://static-text': 'text/plain', 'test://static-binary': 'image/png', [watched]: 'text/plain' };
      for (const [uri, type] of Object.entries(expected)) want(types[uri] === type, `${uri}: expected ${type}, got ${show(resources)}`);
      const templates = await pages(cursor => client.sdk.listResourceTemplates(cursor), 'resourceTemplates');
      want(templates.some(template => template.uriTemplate === 'test://template/{id}/data' && template.mimeType === 'application/json'), `templates: got ${show(templates)}`);
    },
    async read() {
      const read = async (uri, mimeType) => {
        const { contents } = await client.sdk.readResource({ uri });
        want(contents.length === 1 && contents[0].uri === uri && contents[0].mimeType === mimeType, `${uri}: got ${show(contents)}`);
        return contents[0];
      };
      const text = await read('test://static-text', 'text/plain');
      want(text.text === 'This is the content of the static text resource.', `static-text: got ${show(text)}`);
      const bytes = await read('test://static-binary', 'image/png');
      want(Buffer.from(bytes.blob, 'base64').subarray(1, 4).toString() === 'PNG', `static-binary is not a PNG: ${show(bytes)}`);
      const data = JSON.parse((await read('test://template/a%20b/data', 'application/json')).text);
      want(data.id === 'a b' && data.templateTest === true, `template: got ${show(data)}`);
      const error = await rejection(client.sdk.readResource({ uri: 'test://nowhere' }), 'unknown resource');
      want(error.code === (modern ? -32602 : (client.notFound ?? -32002)), `unknown resource: got ${error.code} ${error.message}`);
      want(error.data?.uri === 'test://nowhere' || error.message.includes('test://nowhere'), `the error does not name the resource: ${error.message}`);
    },
    async prompts() {
      const prompts = await pages(cursor => client.sdk.listPrompts(cursor), 'prompts');
      const two = prompts.find(prompt => prompt.name === 'test_prompt_with_arguments');
      want(show(two?.arguments.map(({ name, required }) => [name, required])) === '[["arg1",true],["arg2",true]]', `prompts/list: got ${show(prompts)}`);
      const get = async (name, args, ...expected) => {
        const { messages } = await client.sdk.getPrompt({ name, arguments: args });
        want(show(messages.map(message => message.content.type)) === show(expected), `${name}: got ${show(messages)}`);
        return messages[0].content;
      };
      const simple = await get('test_simple_prompt', undefined, 'text');
      want(simple.text === 'This is a simple prompt for testing.', `test_simple_prompt: got ${show(simple)}`);
      const said = await get('test_prompt_with_arguments', { arg1: 'Grüße', arg2: 'b' }, 'text');
      want(said.text === "Prompt with arguments: arg1='Grüße', arg2='b'", `test_prompt_with_arguments: got ${show(said)}`);
      const embedded = await get('test_prompt_with_embedded_resource', { resourceUri: 'test://x' }, 'resource', 'text');
      want(embedded.resource.uri === 'test://x', `test_prompt_with_embedded_resource: got ${show(embedded)}`);
      const image = await get('test_prompt_with_image', undefined, 'image', 'text');
      want(image.mimeType === 'image/png', `test_prompt_with_image: got ${show(image)}`);
      for (const [name, args, told] of [['test_prompt_with_arguments', { arg1: 'a' }, 'arg2'], ['no_such_prompt', {}, 'no_such_prompt']]) {
        const error = await rejection(client.sdk.getPrompt({ name, arguments: args }), name);
        want(error.code === -32602 && error.message.includes(told), `${name}: expected -32602 that names ${told}, got ${error.code} ${error.message}`);
      }
    },
    async complete() {
      for (const [ref, name, value, expected] of [
        [{ type: 'ref/prompt', name: 'test_prompt_with_arguments' }, 'arg1', 'par', ['paris', 'party']],
        [{ type: 'ref/prompt', name: 'test_prompt_with_arguments' }, 'arg2', 'x', []],
        [{ type: 'ref/resource', uri: 'test://template/{id}/data' }, 'id', '12', ['123', '124']],
      ]) {
        const { completion } = await client.sdk.complete({ ref, argument: { name, value } });
        want(show(completion.values) === show(expected), `${show(ref)} ${name}: expected ${expected}, got ${show(completion)}`);
      }
      const error = await rejection(client.sdk.complete({ ref: { type: 'ref/prompt', name: 'none' }, argument: { name: 'a', value: '' } }), 'unknown prompt');
      want(error.code === -32602, `unknown prompt: expected -32602, got ${error.code} ${error.message}`);
    },
    async subscribe() {
      const heard = () => client.heard.filter(({ method, params }) => method === 'notifications/resources/updated' && params.uri === watched);
      client.heard.length = 0;
      let end;
      if (modern) {
        const subscription = await client.sdk.listen({ resourceSubscriptions: [watched] });
        want(show(subscription.honoredFilter.resourceSubscriptions) === show([watched]), `honoured: ${show(subscription.honoredFilter)}`);
        end = () => subscription.close();
      } else {
        await client.sdk.subscribeResource({ uri: watched });
        end = () => client.sdk.unsubscribeResource({ uri: watched });
      }
      await client.call('touch', {});
      await until(5000, () => heard().length === 1, 'the update');
      await end();
      // A stream that its client closes has ended a moment later.
      for (const last = Date.now() + (modern ? 5000 : 0); ; ) {
        client.heard.length = 0;
        await client.call('touch', {});
        await delay(300);
        if (heard().length === 0) return;
        want(Date.now() < last, `updates still come after the end: ${show(heard())}`);
      }
    },
    async changes() {
      const subscription = modern && (await client.sdk.listen({ toolsListChanged: true, promptsListChanged: true }));
      for (const [kind, name, list] of [
        ['tool', 'test_dynamic_tool', () => pages(cursor => client.sdk.listTools(cursor), 'tools')],
        ['prompt', 'test_dynamic_prompt', () => pages(cursor => client.sdk.listPrompts(cursor), 'prompts')],
      ]) {
        for (const there of [true, false]) {
          client.heard.length = 0;
          await client.call(`test_trigger_${kind}_change`, {});
          await until(5000, () => client.heard.some(({ method }) => method === `notifications/${kind}s/list_changed`), `the change of the ${kind}s`);
          want((await list()).some(item => item.name === name) === there, `${name} is ${there ? 'not ' : ''}in the list`);
        }
      }
      if (subscription) await subscription.close();
    },
    async elicit() {
      if (revision < '2025-06-18') {
        const result = await client.call('test_elicitation', { message: 'Who?' });
        want(result.isError, `elicitation is not part of ${revision}, got ${show(result)}`);
        return;
      }
      const user = await client.call('test_elicitation', { message: 'Who are you?' });
      const [, action, content] = texts(user)[0].match(/^User response: action=(\w+), content=(.*)$/) ?? [];
      want(action === 'accept' && show(JSON.parse(content)) === show({ username: 'ada', email: 'ada@example.org' }), `accepted: got ${show(user)}`);
      const declined = await client.call('test_elicitation', { message: 'Say no' });
      want(texts(declined)[0].startsWith('User response: action=decline'), `declined: got ${show(declined)}`);
      await says(client, 'test_input_required_result_multi_round', {}, 'Ada likes blue.');
      const { messages } = await client.sdk.getPrompt({ name: 'test_input_required_result_prompt' });
      want(messages[0].content.text.startsWith('Use this context: '), `a prompt that asks: got ${show(messages)}`);
    },
    async sample() {
      await says(client, 'test_sampling', { prompt: 'What is 2 + 2?' }, 'LLM response: What is 2 + 2? (100)');
    },
    async roots() {
      await says(client, 'test_input_required_result_list_roots', {}, "The client's roots: file:///home/ada/notes, file:///home/ada/music");
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
