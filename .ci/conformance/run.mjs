// Runs the official conformance suite against the demo server: the scenarios of scenarios.txt, or with --all everything, unjudged.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const [demo, modules, mode] = process.argv.slice(2);
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

// A fresh server for each group of runs, so that none sees another's changes.
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
// Runs the suite once; its checks by scenario, and what it printed.
async function conformance(program, args, limit) {
  const folder = join(scratch, String(folders++));
  const run = start(process.execPath, [program, 'server', ...args, '--output-dir', folder]);
  const late = await Promise.race([run.ended.then(() => false), delay(limit, true, { ref: false })]);
  if (late) run.child.kill('SIGKILL');
  await run.ended;
  const checks = new Map();
  for (const name of existsSync(folder) ? readdirSync(folder).sort() : []) {
    const file = join(folder, name, 'checks.json');
    const scenario = name.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT.*$/, '');
    if (existsSync(file)) checks.set(scenario, JSON.parse(readFileSync(file, 'utf8')));
  }
  return { checks, text: late ? `killed after ${limit / 1000} s\n${run.text}` : run.text };
}

function tally(checks) {
  const count = status => checks.filter(check => check.status === status).length;
  return { passed: count('SUCCESS'), failed: count('FAILURE'), warnings: count('WARNING'), skipped: count('SKIPPED') };
}

const row = (revision, scenario, { passed, failed, warnings, skipped }, verdict) =>
  `| ${revision} | ${scenario} | ${passed} | ${failed} | ${warnings} | ${skipped} | ${verdict} |`;
const heading = '| revision | scenario | passed | failed | warnings | skipped | |\n|---|---|---|---|---|---|---|';
const tell = check => `${check.status} ${check.id} (${check.name}): ${(check.errorMessage ?? check.details?.message ?? check.description ?? '').slice(0, 2000)}`;
const noteworthy = check => ['FAILURE', 'WARNING', 'SKIPPED'].includes(check.status);

function readScenarios() {
  const runs = new Map();
  for (const line of readFileSync(join(here, 'scenarios.txt'), 'utf8').split('\n')) {
    if (!line.trim() || line.startsWith('#')) continue;
    const [, revision, scenario, id, reason] = line.match(/^(\S+) (\S+)(?: (\S+): (.+))?$/) ?? [];
    if (!revision) throw new Error(`scenarios.txt: cannot read the line: ${line}`);
    const key = `${revision} ${scenario}`;
    const run = runs.get(key) ?? { revision, scenario, allowed: new Map() };
    if (id) run.allowed.set(id, reason);
    else if (run.listed) throw new Error(`scenarios.txt: listed twice: ${key}`);
    else run.listed = true;
    runs.set(key, run);
  }
  for (const [key, run] of runs) if (!run.listed) throw new Error(`scenarios.txt: ${key} has a reason but no line of its own`);
  return [...runs.values()];
}

async function listed() {
  const runs = readScenarios();
  const details = [];
  let passed = 0;
  let failed = 0;
  console.log(heading);
  for (const revision of new Set(runs.map(run => run.revision))) {
    const died = await withServer(async url => {
      for (const { scenario, allowed } of runs.filter(run => run.revision === revision)) {
        const old = revision === 'old-suite';
        const args = ['--url', url, '--scenario', scenario, ...(old ? [] : ['--spec-version', revision])];
        const { checks, text } = await conformance(old ? oldSuite : suite, args, 60_000);
        const found = checks.get(scenario) ?? [];
        const problems = found.filter(noteworthy).filter(check => check.status === 'FAILURE' || !allowed.has(check.id)).map(tell);
        for (const id of allowed.keys()) {
          if (!found.some(check => check.id === id && ['WARNING', 'SKIPPED'].includes(check.status))) problems.push(`${id}: neither warned nor was skipped, remove its line`);
        }
        // The schema check alone says nothing about the scenario.
        if (!found.some(check => ['SUCCESS', 'FAILURE'].includes(check.status) && check.id !== 'wire-schema-valid')) {
          problems.push(`no check ran: ${text.trim().split('\n').slice(0, 3).join(' ').slice(0, 1000)}`);
        }
        if (problems.length) {
          failed++;
          details.push(`\n${revision} ${scenario}:`, ...problems.map(problem => `- ${problem}`));
        } else {
          passed++;
        }
        console.log(row(revision, scenario, tally(found), problems.length ? 'FAIL' : 'ok'));
      }
    });
    if (died !== undefined) {
      failed++;
      details.push(`\nthe server ended during ${revision}: ${died}`);
    }
  }
  for (const { revision, scenario, allowed } of runs) {
    for (const [id, reason] of allowed) details.push(`\n${revision} ${scenario}: ${id} is allowed: ${reason}`);
  }
  if (details.length) console.log(details.join('\n'));
  console.log(`\n${passed} passed, ${failed} failed`);
  process.exitCode = failed || !passed ? 1 : 0;
}

// The server scenarios that the suite runs with a revision's requirements and does not count.
function notScored(revision) {
  const text = readFileSync(join(modules, `node_modules/conformance/requirements/${revision}.yaml`), 'utf8');
  const [, extra = ''] = text.split(/^not_scored:/m);
  return [...extra.matchAll(/- scenario: (\S+)\n\s+leg: server/g)].map(match => match[1]);
}

async function all() {
  const runs = [
    ['2025-06-18', suite, ['--suite', 'all', '--spec-version', '2025-06-18'], []],
    ['2025-11-25', suite, ['--requirements', '2025-11-25'], notScored('2025-11-25')],
    ['2026-07-28', suite, ['--requirements', '2026-07-28'], notScored('2026-07-28')],
    ['old-suite', oldSuite, ['--suite', 'all'], []],
  ];
  const details = [];
  let passed = 0;
  let failed = 0;
  console.log(heading);
  for (const [title, program, args, extra] of runs) {
    await withServer(async url => {
      const { checks, text } = await conformance(program, ['--url', url, ...args], 600_000);
      for (const [scenario, found] of checks) {
        const counts = tally(found);
        const verdict = counts.failed ? 'FAIL' : counts.passed ? 'ok' : 'no check ran';
        if (verdict === 'ok') passed++;
        else failed++;
        console.log(row(title, scenario, counts, `${verdict}${extra.includes(scenario) ? ', not required' : ''}`));
        if (found.some(noteworthy)) details.push(`\n${title} ${scenario}:`, ...found.filter(noteworthy).map(check => `- ${tell(check)}`));
      }
      if (checks.size === 0) details.push(`\n${title}: nothing ran: ${text.trim().slice(-1500)}`);
    });
  }
  console.log(details.join('\n'));
  console.log(`\n${passed} passed, ${failed} failed`);
}

await (mode === '--all' ? all() : listed());
