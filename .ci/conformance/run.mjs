// Runs the official conformance suites against the demo server and judges every check of every scenario. See README.md.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const [demo, modules, only] = process.argv.slice(2);
const suite = join(modules, 'node_modules/conformance/dist/index.js');
const oldSuite = join(modules, 'node_modules/conformance-old/dist/index.js');

const scratch = mkdtempSync(join(tmpdir(), 'mcp-conformance-'));
const alive = new Set();
process.on('exit', () => {
  for (const child of alive) child.kill('SIGKILL');
  rmSync(scratch, { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(130));

function start(command, args) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], cwd: scratch, env: { ...process.env, NO_PROXY: '127.0.0.1', no_proxy: '127.0.0.1' } });
  const state = { child, text: '', status: undefined };
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', text => (state.text += text));
  alive.add(child);
  state.ended = new Promise(resolve => {
    child.on('error', error => resolve((state.status = error.message)));
    child.on('close', (code, signal) => {
      alive.delete(child);
      resolve((state.status = code ?? signal));
    });
  });
  return state;
}

// A fresh server for each run, so that none sees another's changes.
async function withServer(use) {
  const server = start(demo, ['--http', '127.0.0.1:0']);
  let url;
  for (let i = 0; i < 500 && !url && server.status === undefined; i++) {
    await delay(20);
    url = server.text.match(/listening on (http:\S+)/)?.[1];
  }
  if (!url) {
    console.error(`the server did not say where it listens (${server.status ?? 'still running'}): ${server.text.slice(-2000)}`);
    process.exit(1);
  }
  await use(url);
  const died = server.status;
  server.child.kill('SIGKILL');
  await server.ended;
  return died;
}

let folders = 0;
// Runs a command of a suite; what it wrote into its folder, by scenario.
async function conformance(program, args, limit = 600_000) {
  const folder = join(scratch, String(folders++));
  const run = start(process.execPath, [program, ...args, ...(args[0] === 'server' ? ['--output-dir', folder] : [])]);
  const late = await Promise.race([run.ended.then(() => false), delay(limit, true, { ref: false })]);
  if (late) run.child.kill('SIGKILL');
  const status = await run.ended;
  const checks = new Map();
  for (const name of existsSync(folder) ? readdirSync(folder).sort() : []) {
    const file = join(folder, name, 'checks.json');
    const scenario = name.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT.*$/, '');
    if (existsSync(file)) checks.set(scenario, JSON.parse(readFileSync(file, 'utf8')));
  }
  return { checks, status: late ? `killed after ${limit / 1000} s` : status, text: run.text };
}

// The server scenarios that a suite has, and which of them belong to extensions.
async function known(program) {
  const { text, status } = await conformance(program, ['list', '--server']);
  const scenarios = new Map([...text.matchAll(/^ {2}- (\S+) \[(.+)\]$/gm)].map(([, name, versions]) => [name, versions]));
  if (status !== 0 || scenarios.size === 0) throw new Error(`the suite lists no scenarios: ${text}`);
  return scenarios;
}

// Those that a revision requires, and those that the suite runs with them and does not count, with its reason.
function required(revision) {
  const text = readFileSync(join(modules, `node_modules/conformance/requirements/${revision}.yaml`), 'utf8');
  const [, server] = text.match(/^server:\n((?: {2}- \S+\n)+)/m);
  const [, extra = ''] = text.split(/^not_scored:/m);
  return new Map([
    ...[...server.matchAll(/- (\S+)/g)].map(match => [match[1], 'scored']),
    ...[...extra.matchAll(/- scenario: (\S+)\n\s+leg: server\n\s+reason: (\S+)/g)].map(match => [match[1], match[2]]),
  ]);
}

const tell = check => `${check.status} ${check.id} (${check.name}): ${(check.errorMessage ?? check.details?.message ?? check.description ?? '').slice(0, 2000)}`;
const noteworthy = check => ['FAILURE', 'WARNING', 'SKIPPED'].includes(check.status);

// What is wrong with a scenario. A warning and a skipped check are too: the demo has all that a scenario could ask for.
function problems(found, text) {
  const bad = found.filter(noteworthy).map(tell);
  // The schema check alone says nothing about the scenario.
  if (!found.some(check => ['SUCCESS', 'FAILURE'].includes(check.status) && check.id !== 'wire-schema-valid')) {
    bad.push(`no check ran: ${text.trim().slice(-1000)}`);
  }
  return bad;
}

const totals = { passed: 0, failed: 0 };
const details = [];
const apart = [];
const summary = [];

// One command line of a suite. `classes`: what the suite requires, if it says so. Extensions are told and not judged.
async function run({ title, program, args, classes, extensions, exits }) {
  let outcome;
  const died = await withServer(async url => (outcome = await conformance(program, ['server', '--url', url, ...args])));
  const { checks, status, text } = outcome;
  const announced = [...text.matchAll(/^=== Running scenario: (\S+) ===$/gm)].map(match => match[1]);
  const names = new Set([...(classes?.keys() ?? []), ...announced, ...checks.keys()]);
  const counts = { passed: 0, failed: 0 };
  for (const name of names) {
    const found = checks.get(name) ?? [];
    const count = wanted => found.filter(check => check.status === wanted).length;
    const bad = problems(found, text.split(`=== Running scenario: ${name} ===`)[1]?.split('=== Running scenario:')[0] ?? 'the suite did not run it');
    const extension = extensions.has(name);
    const verdict = bad.length === 0 ? 'ok' : extension ? 'not ok, not required' : 'FAIL';
    console.log(`| ${title} | ${name} | ${classes?.get(name) ?? (extension ? 'extension' : 'all')} | ${['SUCCESS', 'FAILURE', 'WARNING', 'SKIPPED'].map(count).join(' | ')} | ${verdict} |`);
    if (extension) apart.push(`- ${title} ${name}: ${bad.length === 0 ? 'ok' : bad[0].slice(0, 160)}`);
    else counts[bad.length ? 'failed' : 'passed']++;
    if (bad.length && !extension) details.push(`\n${title} ${name}:`, ...bad.map(problem => `- ${problem}`));
  }
  // The suite's own verdict counts as well, wherever it does not count extensions.
  const whole = [];
  if (names.size === 0) whole.push(`nothing ran: ${text.trim().slice(-1500)}`);
  if (typeof status !== 'number' || (exits && status !== 0)) whole.push(`the suite ended with ${status}: ${text.trim().slice(-1500)}`);
  if (died !== undefined) whole.push(`the server ended: ${died}`);
  if (whole.length) {
    counts.failed++;
    details.push(`\n${title}:`, ...whole.map(problem => `- ${problem}`));
  }
  totals.passed += counts.passed;
  totals.failed += counts.failed;
  summary.push(`- ${title} (\`${args.join(' ')}\`): ${counts.passed} passed, ${counts.failed} failed, status ${status}`);
}

const extensionsOf = scenarios => new Set([...scenarios].filter(([, versions]) => versions === 'extension').map(([name]) => name));
const extensions = extensionsOf(await known(suite));
const none = new Set();
const requirements = ['2025-11-25', '2026-07-28'];
const revisions = ['2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28', 'draft'];
const runs = [
  ...requirements.map(revision => ({
    title: `requirements ${revision}`, program: suite, args: ['--requirements', revision], classes: required(revision), extensions, exits: true,
  })),
  ...revisions.map(revision => ({
    title: `all ${revision}`, program: suite, args: ['--suite', 'all', '--spec-version', revision], extensions, exits: true,
  })),
  // Without a revision the suite runs the extensions' scenarios too, each scenario at the newest revision that it knows.
  { title: 'all', program: suite, args: ['--suite', 'all'], extensions, exits: false },
  { title: '0.1.16', program: oldSuite, args: ['--suite', 'all'], extensions: none, exits: true },
].filter(({ title }) => new RegExp(only ?? '').test(title));

console.log('| run | scenario | class | passed | failed | warnings | skipped | |\n|---|---|---|---|---|---|---|---|');
for (const one of runs) await run(one);
if (apart.length) console.log(`\nExtensions that are told and not required:\n\n${apart.join('\n')}`);
if (details.length) console.log(`\nProblems:\n${details.join('\n')}`);
console.log(`\nScenarios by run, extensions not counted:\n\n${summary.join('\n')}`);
console.log(`\n${totals.passed} passed, ${totals.failed} failed`);
process.exitCode = totals.failed || !totals.passed ? 1 : 0;
