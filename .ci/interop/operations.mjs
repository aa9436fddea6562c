// The checks that every client makes, in table order. The Python and Rust clients implement the same list.
export const operations = {
  connect: 'the revision asked for is agreed on, and the server says its name',
  list: 'all pages of tools/list: no duplicates, all tools of the demo, each described and with an object schema',
  call: 'echo gives back short, empty, unicode and 200 kB texts unchanged',
  structured: 'add returns structuredContent (absent before 2025-06-18) and a text block',
  content: 'image, audio, embedded resource, mixed blocks and an error result arrive typed',
  progress: 'sleep reports progress, strictly increasing, before its result',
  cancel: 'an aborted sleep returns at once, reports no more progress, and the connection still answers',
  parallel: 'eight calls are answered while a ninth sleeps on the same connection (inspector: 40 calls, 8 at a time)',
  unknown: 'an unknown tool is JSON-RPC error -32602 that names it',
  invalid: 'invalid arguments are a result with isError',
  panic: 'a panicking tool is JSON-RPC error -32603 and the connection goes on (inspector: an error of unknown code)',
  logging: 'log messages arrive at the level asked for, and none when they were not asked for',
  header: 'a tool with an x-mcp-header parameter takes plain and non-ASCII values',
  ping: 'ping is answered',
  close: 'the client closes; a session is gone (404; over HTTP+SSE with its stream; rmcp does not show its id), a stdio server ends by itself with status 0',
};
