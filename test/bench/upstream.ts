import { createServer } from 'node:net';

/*
 * The third party of the bench: prebuilt answers from a raw TCP server, which costs as little CPU as possible.
 * GET /items/… answers one record of 1 KB, anything else a page of 50 such records.
 */
const record = (id: number) => ({
  id,
  name: `Record ${id}`,
  email: `record${id}@example.com`,
  createdAt: '2026-01-01T00:00:00Z',
  tags: ['a', 'b', 'c'],
  note: 'x'.repeat(300),
});
const item = { ...record(1), description: 'y'.repeat(560) };
const page = { data: Array.from({ length: 50 }, (_, n) => record(n)), total: 5000 };
const answers = { item: response(item), page: response(page) };

const server = createServer({ noDelay: true }, (socket) => {
  let rest = '';
  socket.on('error', () => {});
  socket.on('data', (chunk) => {
    rest += chunk.toString('latin1');
    for (let end = rest.indexOf('\r\n\r\n'); end !== -1; end = rest.indexOf('\r\n\r\n')) {
      socket.write(rest.startsWith('GET /items/') ? answers.item : answers.page);
      rest = rest.slice(end + 4);
    }
  });
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.stdout.write(`${address && typeof address === 'object' ? address.port : 0}\n`);
});

function response(body: unknown): Buffer {
  const text = JSON.stringify(body);
  const head = [
    'HTTP/1.1 200 OK',
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(text)}`,
  ];
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${text}`);
}
