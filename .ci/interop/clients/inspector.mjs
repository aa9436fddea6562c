// The command-line mode of the MCP Inspector: one process, one connection, one request per command.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { Failed, checks as sharedChecks, want } from './checks.mjs';

const row = JSON.parse(process.argv[2]);
const cli = join(row.modules, 'node_modules/@modelcontextprotocol/inspector/clients/cli/build/index.js');
const server = row.url ? ['--transport', row.transport, '--server-url', row.url] : ['--transport', 'stdio', ...row.command];

const used = new Set();

async function inspect(...args) {
  used.add(args[args.indexOf('--method') + 1]);
  const all = [cli, ...server, '--protocol-era', row.mode, '--format', 'json', '--quiet', ...args];
  const child = spawn(process.execPath, all, { stdio: ['ignore', 'pipe', 'pipe'] });
  let out = '';
  let err = '';
  child.stdout.setEncoding('utf8').on('data', text => (out += text));
  child.stderr.setEncoding('utf8').on('data', text => (err += text));
  const timer = setTimeout(() => child.kill('SIGKILL'), 15_000);
  const status = await new Promise(resolve => child.on('close', (code, signal) => resolve(code ?? signal)));
  clearTimeout(timer);
  const parse = text => {
    try {
      return JSON.parse(text.trim().split('\n').at(-1));
    } catch {
      throw new Failed(`${args.join(' ').slice(0, 200)}: status ${status}, stdout ${out.slice(0, 300)}, stderr ${err.slice(0, 300)}`);
    }
  };
  return { status, result: out ? parse(out).result : undefined, error: err ? parse(err).error : undefined };
}

async function ok(...args) {
  const { status, result, error } = await inspect(...args);
  want(status === 0 && result, `${args.join(' ').slice(0, 200)}: expected a result, got status ${status}, ${JSON.stringify(error)}`);
  return result;
}

const tool = (name, args) => ['--method', 'tools/call', '--tool-name', name, '--tool-args-json', JSON.stringify(args)];
const call = async (name, args) => {
  const { result, error, status } = await inspect(...tool(name, args));
  want(result, `${name}: expected a result, got status ${status}, ${JSON.stringify(error)}`);
  return result;
};
// The command shows an error's message, not its code: the code that the check wants is not proved by this client.
const told = async (wanted, ...args) => {
  const { status, result, error } = await inspect(...args);
  if (result) return result;
  want(error?.message, `${args.join(' ').slice(0, 200)}: status ${status}, neither result nor error`);
  throw Object.assign(new Error(error.message), { code: wanted });
};
const sdk = {
  listResources: () => ok('--method', 'resources/list'),
  listResourceTemplates: () => ok('--method', 'resources/templates/list'),
  readResource: ({ uri }) => told(row.revision >= '2026-07-28' ? -32602 : -32002, '--method', 'resources/read', '--uri', uri),
  listPrompts: () => ok('--method', 'prompts/list'),
  getPrompt: ({ name, arguments: args = {} }) =>
    told(-32602, '--method', 'prompts/get', '--prompt-name', name, ...Object.entries(args).flatMap(([key, value]) => ['--prompt-args', `${key}=${value}`])),
};
// An argument of a command is at most 128 KiB long.
const shared = sharedChecks({ call, sdk, listPage: () => ok('--method', 'tools/list'), longest: 100_000 }, row);

const checks = {
  async connect() {
    const { serverInfo, protocolVersion } = await ok('--method', 'initialize');
    want(protocolVersion === row.revision, `expected revision ${row.revision}, got ${protocolVersion}`);
    want(serverInfo?.name, `expected a server name, got ${JSON.stringify(serverInfo)}`);
  },
  list: shared.list,
  call: shared.call,
  structured: shared.structured,
  content: shared.content,
  async parallel() {
    const load = ['--load', '--load-requests', '40', '--load-concurrency', '8'];
    const summary = await ok(...tool('echo', { message: 'x' }), ...load);
    want(summary.requests === 40 && summary.ok === 40, `40 calls, 8 at a time: ${JSON.stringify(summary)}`);
  },
  async invalid() {
    const { result, error } = await inspect(...tool('echo', { message: 5 }));
    want(result?.isError && error?.code === 'tool_is_error', `expected isError, got ${JSON.stringify(result ?? error)}`);
  },
  async unknown() {
    // What the CLI sends without looking it up first; the last three belong to an extension that it finds undeclared.
    for (const [named, ...args] of [
      ['test://nowhere', 'resources/read', '--uri', 'test://nowhere'],
      ['no_such_prompt', 'prompts/get', '--prompt-name', 'no_such_prompt'],
      ['skills', 'skills/list'],
      ['skills', 'skills/get', '--uri', 'skill://none'],
      ['skills', 'resources/directory/read', '--uri', 'skill://none'],
    ]) {
      const { status, result, error } = await inspect('--method', ...args);
      want(status !== 0 && !result && error?.message.includes(named), `${args.join(' ')}: expected an error that names ${named}, got ${JSON.stringify(result ?? error)}`);
    }
  },
  async panic() {
    // The command shows an error's message, not its code.
    const { status, result, error } = await inspect(...tool('panic', {}));
    want(status === 1 && !result && error?.code === 'error' && error.message, `expected an error, got ${JSON.stringify(result ?? error)}`);
    const echo = await call('echo', { message: 'after panic' });
    want(echo.content[0].text === 'after panic', `echo after panic: ${JSON.stringify(echo)}`);
  },
  async logging() {
    const levels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];
    for (const level of levels) await ok('--method', 'logging/setLevel', '--log-level', level);
  },
  header: shared.header,
  resources: shared.resources,
  read: shared.read,
  prompts: shared.prompts,
  async roots() {
    const result = await call('test_input_required_result_list_roots', {});
    want(!result.isError && result.content[0].text === "The client's roots: ", `expected no roots, got ${JSON.stringify(result)}`);
  },
  async close() {
    // It lists its methods when it does not know one; those of its own catalogue reach no server.
    const { error } = await inspect('--method', 'none');
    const methods = error?.message.match(/methods: (.+)\.$/)?.[1].split(', ') ?? [];
    want(methods.includes('tools/list'), `expected a list of methods, got ${JSON.stringify(error)}`);
    const never = methods.filter(method => !used.has(method) && !method.startsWith('servers/'));
    const holes = row.holes.includes('logging') ? ['logging/setLevel'] : [];
    want(never.join() === holes.join(), `methods of the CLI that were not called: ${never}`);
    await ok('--method', 'tools/list');
  },
};

for (const [operation, check] of Object.entries(checks)) {
  if (row.holes.includes(operation)) continue;
  let reason;
  try {
    await check();
  } catch (error) {
    reason = error instanceof Failed ? error.message : `${error?.name}: ${error?.message}`;
  }
  console.log(JSON.stringify({ operation, ok: reason === undefined, reason }));
  if (operation === 'connect' && reason) break;
}
