// Which client runs how, and what it leaves out. A hole is a decision with a reason; whatever else does not succeed is a failure.
const legacy = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'];
const modern = ['2026-07-28'];

const oneRequest = 'the inspector CLI makes one request per connection and has no method for this';
const inspectorHoles = {
  progress: 'the inspector CLI shows no progress notifications',
  cancel: oneRequest,
  complete: oneRequest,
  subscribe: oneRequest,
  changes: oneRequest,
  elicit: 'the inspector CLI declares neither elicitation nor sampling',
  sample: 'the inspector CLI declares neither elicitation nor sampling',
  ping: oneRequest,
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
  ...rows('inspector', [['legacy', '2025-11-25']], inspectorHoles, ['http', 'stdio', 'sse']),
  ...rows('inspector', [['auto', modern[0]], ['modern', modern[0]]], { ...inspectorHoles, logging: 'logging/setLevel is not part of 2026-07-28, and the inspector CLI shows no log messages' }),
];
