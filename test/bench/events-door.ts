import type { RequestListener } from 'node:http';

/** Starts the intake that all senders of the bench share: POST /{endpoint} answers 202 after `take` has stored it. */
export function takeEvents(take: (endpoint: string, body: string) => Promise<void>): RequestListener {
  return (req, res) => {
    let body = '';
    req.setEncoding('utf8');
    req.on('data', (chunk: string) => (body += chunk));
    req.on('end', () => {
      take(req.url?.slice(1) ?? '', body).then(
        () => res.writeHead(202).end(),
        (error: unknown) => {
          console.error(error);
          res.writeHead(500).end();
        },
      );
    });
  };
}
