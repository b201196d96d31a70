import { Router, type Response } from 'express';
import { z } from 'zod';
import { SECOND } from '../lib/clock.ts';
import { queryOf, Refusal, sendRefusal } from './answers.ts';

/** Serves failures on demand: error statuses and slow answers. */
export function troubleRoutes(): Router {
  const router = Router();

  router.get('/fail/:status', (req, res) => {
    const status = Number(req.params.status);
    if (!/^[2-5]\d\d$/.test(req.params.status)) {
      throw new Refusal({ status: 422, kind: 'invalid' }, 'The status must be from 200 to 599.', {
        status: 'must be from 200 to 599',
      });
    }
    if (status < 400) {
      res.status(status).json({ status });
      return;
    }
    if (status === 429 || status === 503) res.set('Retry-After', '1');
    sendRefusal(res, new Refusal({ status, kind: 'asked_for' }, `You asked for the status ${status}.`));
  });

  router.get('/slow', async (req, res) => {
    const { ms } = queryOf(slowQuery, req);
    const steps = Math.max(1, Math.min(10, Math.floor(ms / 50)));
    const events = /\btext\/event-stream\b/.test(req.get('accept') ?? '');
    if (events) res.type('text/event-stream').set('Cache-Control', 'no-store').flushHeaders();
    for (let step = 1; step <= steps; step++) {
      if (!(await waited(res, ms / steps))) return;
      if (events)
        res.write(event('progress', { progress: step, total: steps, message: `step ${step} of ${steps}` }));
    }
    const result = { waited_ms: ms };
    if (events) res.end(event('result', result));
    else res.json(result);
  });
  return router;
}

const slowQuery = z.strictObject({
  ms: z.coerce
    .number('must be a number')
    .int()
    .min(0)
    .max(60 * SECOND)
    .default(SECOND),
});

function event(name: string, data: unknown): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** Waits. @returns whether the client is still connected. */
function waited(res: Response, ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    const gone = () => {
      clearTimeout(timer);
      resolve(false);
    };
    const timer = setTimeout(() => {
      res.off('close', gone);
      resolve(true);
    }, ms);
    if (res.closed) gone();
    else res.once('close', gone);
  });
}
