// Runs each row of matrix.mjs: a fresh server, one client process, a table at the end.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { matrix } from './matrix.mjs';
import { operations } from './operations.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const { demo, modules, python1, python2, rmcp } = JSON.parse(process.argv[2]);
const only = new RegExp(process.argv[3] ?? '');
const jobs = Number(process.env.MCP_INTEROP_JOBS ?? 2);
const clientLimit = 120_000;

const commands = {
  'typescript-1': [process.execPath, join(here, 'clients/typescript-1.mjs')],
  'typescript-2': [process.execPath, join(here, 'clients/typescript-2.mjs')],
  inspector: [process.execPath, join(here, 'clients/inspector.mjs')],
  'python-1': [python1, join(here, 'clients/python-1.py')],
  'python-2': [python2, join(here, 'clients/python-2.py')],
  rmcp: [rmcp],
};
const version = name => JSON.parse(readFileSync(join(modules, 'node_modules', name, 'package.json'))).version;
const pinned = (file, pattern) => readFileSync(join(here, file), 'utf8').match(pattern)[1];
const titles = {
  'typescript-1': `@modelcontextprotocol/sdk ${version('@modelcontextprotocol/sdk')}`,
  'typescript-2': `@modelcontextprotocol/client ${version('@modelcontextprotocol/client')}`,
  inspector: `inspector CLI ${version('@modelcontextprotocol/inspector')}`,
  'python-1': `Python mcp ${pinned('python-1.txt', /^mcp==(\S+)/m)}`,
  'python-2': `Python mcp ${pinned('python-2.txt', /^mcp==(\S+)/m)}`,
  rmcp: `rmcp ${pinned('rmcp/Cargo.toml', /^rmcp = \{ version = "=([^"]+)"/m)}`,
};

const scratch = mkdtempSync(join(tmpdir(), 'mcp-interop-'));
const alive = new Set();
const kill = pid => {
  for (const target of [-pid, pid]) {
    try {
      process.kill(target, 'SIGKILL');
    } catch {
      // gone already
    }
  }
};
process.on('exit', () => {
  for (const pid of alive) kill(pid);
  rmSync(scratch, { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(130));

function start(command, options = {}) {
  const child = spawn(command[0], command.slice(1), { stdio: ['ignore', 'pipe', 'pipe'], detached: true, ...options });
  const state = { child, out: '', err: '', status: undefined };
  child.stdout.setEncoding('utf8').on('data', text => (state.out += text));
  child.stderr.setEncoding('utf8').on('data', text => (state.err += text));
  if (child.pid) alive.add(child.pid);
  state.ended = new Promise(resolve => {
    child.on('error', error => resolve((state.status = error.message)));
    child.on('close', (code, signal) => {
      alive.delete(child.pid);
      resolve((state.status = code ?? signal));
    });
  });
  return state;
}

async function until(limit, test) {
  for (const end = Date.now() + limit; Date.now() < end; await delay(20)) {
    const value = test();
    if (value) return value;
  }
}

async function run(row, index) {
  const results = new Map();
  // What the client did not report has failed too; the reason is told once.
  const failed = reason => {
    for (const operation of Object.keys(operations)) {
      if (results.has(operation) || row.holes[operation]) continue;
      results.set(operation, { ok: false, reason });
      reason = 'not reached';
    }
    return results;
  };
  const input = { ...row, holes: Object.keys(row.holes), modules };
  const statusFile = join(scratch, `status-${index}`);
  let server;
  if (row.transport !== 'stdio') {
    const sse = row.transport === 'sse';
    server = start([demo, '--http', '127.0.0.1:0', ...(sse ? ['--sse'] : [])]);
    input.url = await until(10_000, () => server.err.match(/listening on (http:\S+)/)?.[1] ?? (server.status !== undefined && 'none'));
    if (!input.url?.startsWith('http')) {
      kill(server.child.pid);
      return failed(`the server did not say where it listens: ${server.err.slice(-500)}`);
    }
    if (sse) input.url = input.url.replace(/mcp$/, 'sse');
  } else {
    input.command = [join(here, 'stdio-server'), statusFile, demo, '--stdio'];
  }

  const command = commands[row.client];
  const client = start([...command, JSON.stringify(input)], {
    env: { ...process.env, NO_PROXY: '127.0.0.1', no_proxy: '127.0.0.1', PYTHONDONTWRITEBYTECODE: '1', HOME: scratch },
  });
  const late = await Promise.race([client.ended.then(() => false), delay(clientLimit, true, { ref: false })]);
  kill(client.child.pid);
  await client.ended;

  for (const line of client.out.split('\n').filter(Boolean)) {
    let result;
    try {
      result = JSON.parse(line);
    } catch {
      result = undefined;
    }
    if (!operations[result?.operation]) return failed(`the client printed ${line.slice(0, 300)}`);
    if (row.holes[result.operation]) return failed(`${result.operation} is listed as a hole and ran all the same`);
    results.set(result.operation, result);
  }
  if (row.transport === 'stdio') {
    const ended = await until(3000, () => existsSync(statusFile) && readFileSync(statusFile, 'utf8').trim());
    if (existsSync(`${statusFile}.pid`)) {
      const pid = Number(readFileSync(`${statusFile}.pid`, 'utf8'));
      if (!ended) kill(pid);
    }
    const close = results.get('close');
    if (close?.ok && ended !== '0') {
      close.ok = false;
      close.reason = ended ? `the server ended with status ${ended}` : 'the server did not end when its input did';
    }
  } else {
    const close = results.get('close');
    if (close?.ok && server.status !== undefined) {
      close.ok = false;
      close.reason = `the server died: ${server.status} ${server.err.slice(-500)}`;
    }
    kill(server.child.pid);
    await server.ended;
  }
  const reason = late ? `the client did not finish within ${clientLimit / 1000} s` : `the client ended early (${client.status})`;
  return failed(`${reason}: ${client.err.trim().slice(-600)}`);
}

const todo = matrix.map((row, index) => ({ row, index })).filter(({ row }) => only.test(`${row.client} ${row.transport} ${row.mode} ${row.revision}`));
const label = row => `${titles[row.client]} | ${row.transport} | ${row.revision}${row.mode === 'legacy' ? '' : ` (${row.mode})`}`;
const done = [];
const queue = [...todo];
async function worker() {
  for (let next = queue.shift(); next; next = queue.shift()) {
    const results = await run(next.row, next.index);
    done.push({ ...next, results });
    const bad = [...results.values()].filter(result => !result.ok).length;
    console.error(`${bad ? 'FAIL' : 'ok'}  ${label(next.row)}`);
  }
}
await Promise.all(Array.from({ length: jobs }, worker));
done.sort((a, b) => a.index - b.index);

const reasons = [];
const failures = [];
let passed = 0;
let failed = 0;
console.log(`| client | transport | revision | ${Object.keys(operations).join(' | ')} |`);
console.log(`|---|---|---|${'---|'.repeat(Object.keys(operations).length)}`);
for (const { row, results } of done) {
  const cells = Object.keys(operations).map(operation => {
    const hole = row.holes[operation];
    if (hole) {
      if (!reasons.includes(hole)) reasons.push(hole);
      return `hole ${reasons.indexOf(hole) + 1}`;
    }
    const { ok, reason } = results.get(operation);
    if (ok) {
      passed++;
      return 'ok';
    }
    if (reason !== 'not reached') failures.push(`- ${label(row)} | ${operation}: ${reason}`);
    failed++;
    return 'FAIL';
  });
  console.log(`| ${label(row)} | ${cells.join(' | ')} |`);
}
console.log('\nOperations:\n');
for (const [operation, text] of Object.entries(operations)) console.log(`- ${operation}: ${text}`);
if (reasons.length) {
  console.log('\nHoles:\n');
  reasons.forEach((reason, i) => console.log(`${i + 1}. ${reason}`));
}
if (failures.length) {
  console.log('\nFailures:\n');
  console.log(failures.join('\n'));
}
console.log(`\n${passed} passed, ${failed} failed`);
process.exit(failed || !passed ? 1 : 0);
