// Which client runs how, and what it leaves out. A hole is a decision with a reason; whatever else does not succeed is a failure.
const legacy = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'];
const modern = ['2026-07-28'];

const inspectorHoles = {
  progress: 'the inspector CLI shows no progress notifications',
  cancel: 'the inspector CLI has no cancel',
  unknown: 'the inspector CLI looks a tool up in tools/list and never sends an unknown name',
  logging: 'the inspector CLI shows no log messages',
  ping: 'the inspector CLI has no ping',
};
const noPing = { ping: 'ping is not part of 2026-07-28' };

function rows(client, modes, holes = {}, transports = ['http', 'stdio']) {
  return transports.flatMap(transport =>
    modes.map(([mode, revision]) => ({
      client, transport, mode, revision,
      holes: { ...(modern.includes(revision) ? noPing : {}), ...holes },
    })));
}

const handshakes = legacy.map(revision => ['legacy', revision]);
const both = [...handshakes, ['auto', modern[0]], ['pin', modern[0]]];

export const matrix = [
  ...rows('typescript-1', handshakes),
  ...rows('typescript-2', both),
  ...rows('python-1', handshakes),
  ...rows('python-2', both),
  ...rows('rmcp', both),
  // The transport of 2024-11-05, with the clients that have it; the revision is another matter.
  ...['typescript-1', 'typescript-2', 'python-1', 'python-2'].flatMap(client => rows(client, handshakes, {}, ['sse'])),
  ...rows('inspector', [['legacy', '2025-11-25'], ['auto', modern[0]], ['modern', modern[0]]], inspectorHoles),
];
