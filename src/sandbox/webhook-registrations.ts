import { createHmac, randomBytes } from 'node:crypto';
import http from 'node:http';
import https from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { Router } from 'express';
import { z } from 'zod';
import { SECOND, type Clock } from '../lib/clock.ts';
import type { Logger } from '../log.ts';
import { bodyOf, notFound, Refusal } from './answers.ts';
import type { Account, AccountOf } from './accounts.ts';
import type { Webhook } from './accounts.ts';
import { TOPICS, type Topic } from './accounts.ts';

const MAX_WEBHOOKS = 20;
const TRIES = 4;

/**
 * Serves webhook registrations. Only addresses below /hooks/ of this process are accepted, so nothing leaves the
 * machine.
 */
export function webhookRoutes(accountOf: AccountOf, context: { readonly publicUrl: string }): Router {
  const router = Router();
  router.get('/webhooks', (_req, res) => {
    const shown = accountOf(res).now.webhooks.map(({ id, url, topic }) => ({ id, url, topic }));
    res.json({ webhooks: shown });
  });
  router.post('/webhooks', async (req, res) => {
    const input = bodyOf(newWebhook, req);
    if (!input.url.startsWith(`${context.publicUrl}/hooks/`)) {
      throw new Refusal({ status: 422, kind: 'invalid' }, 'The sandbox sends to its own process alone.', {
        url: `must begin with ${context.publicUrl}/hooks/`,
      });
    }
    const shown = await accountOf(res).change(({ webhooks }, changes) => {
      if (webhooks.length >= MAX_WEBHOOKS) {
        throw new Refusal({ status: 507, kind: 'full' }, `An account may have ${MAX_WEBHOOKS} webhooks.`);
      }
      const { secret, ...registered } = { id: changes.nextId('whk'), ...input };
      changes.put('webhook', { ...registered, secret });
      return registered;
    });
    res.status(201).json({ webhook: shown });
  });
  router.delete('/webhooks/:id', async (req, res) => {
    await accountOf(res).change(({ webhooks }, changes) => {
      const { id } = req.params;
      if (!webhooks.some((one) => one.id === id)) throw notFound('webhook', id);
      changes.remove('webhook', id);
    });
    res.status(204).end();
  });
  return router;
}

const newWebhook = z.strictObject({
  url: z.url().max(500),
  topic: z.enum(TOPICS),
  secret: z.string().min(16).max(200),
});

/** Sends a change to its registered webhooks, signed over time and body, with a few retries. */
export function createAnnouncer(context: { clock: Clock; log: Logger }) {
  return (account: Account, topic: Topic, record: Readonly<Record<string, unknown>>): void => {
    const id = `evt_${randomBytes(12).toString('hex')}`;
    const body = JSON.stringify({ id, topic, record });
    for (const webhook of account.webhooks.filter((one) => one.topic === topic)) {
      void announce(context, webhook, body).catch((error: unknown) => {
        context.log.warn({ err: error, topic }, 'sandbox webhook failed');
      });
    }
  };
}

async function announce(
  { clock, log }: { clock: Clock; log: Logger },
  { url, secret, topic }: Webhook,
  body: string,
): Promise<void> {
  for (let tries = 1; tries <= TRIES; tries++) {
    const at = Math.floor(clock.now() / SECOND);
    const signature = createHmac('sha256', secret).update(`${at}.${body}`).digest('hex');
    const headers = { 'content-type': 'application/json', 'x-sandbox-signature': `t=${at},v1=${signature}` };
    const status = await post(url, headers, body).catch(() => 0);
    if (status >= 200 && status < 300) return;
    log.debug({ topic, status, tries }, 'sandbox webhook rejected');
    await sleep(SECOND * tries, undefined, { ref: false });
  }
}

/** Posts to this same process: see webhookRoutes(). Returns the HTTP status. */
function post(url: string, headers: Record<string, string>, body: string): Promise<number> {
  const { request } = url.startsWith('https:') ? https : http;
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', headers, timeout: 10 * SECOND }, (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    });
    sent.on('timeout', () => sent.destroy(new Error('no answer in time')));
    sent.on('error', reject);
    sent.end(body);
  });
}
