import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadCatalog } from '../../src/connectors/load-catalog.ts';
import { nameInFile, sourceScope } from '../../src/connectors/event-scopes.ts';
import { eventScopesOf } from '../../src/connectors/source-model.ts';
import { MINUTE } from '../../src/lib/clock.ts';
import type { Json } from '../../src/lib/json.ts';
import { CATALOG_FOLDER } from '../../src/package.ts';
import { pollSource } from '../../src/sources/polling/poll.ts';
import { claimSources } from '../../src/sources/due-sources.ts';
import { manualClock } from '../support/clock.ts';
import { separate } from '../support/events.ts';
import { startService, type Service } from '../support/service.ts';
import { json, startUpstream, type Upstream } from '../support/upstream.ts';

/* The triggers of the shipped connectors: each event source, polled at an app that answers as the vendor documents. */

const catalog = await loadCatalog({ folder: CATALOG_FOLDER, sandbox: true });
const shipped = catalog.connectors('development');

test('every shipped connector has a trigger', () => {
  const without = shipped.filter((connector) => eventScopesOf(connector).length === 0);
  expect(without.map(({ connectorId }) => connectorId)).toEqual([]);
});

interface Trigger {
  /** Answers of the app by path. `iso` is the time of the record. */
  answers: (iso: string) => Record<string, Json>;
  remoteId: string;
  /** A part of the last request for records, decoded. */
  asked: RegExp;
}

const seconds = (iso: string) => Math.floor(Date.parse(iso) / 1000);
const changed = (iso: string) => ({ created_at: iso, updated_at: iso });
const TRIGGERS: Record<string, Trigger> = {
  'slack/message.posted': {
    answers: (iso) => ({
      '/users.conversations': { ok: true, channels: [{ id: 'C1' }] },
      '/conversations.history': {
        ok: true,
        messages: [{ type: 'message', ts: `${seconds(iso)}.000100`, text: 'hi' }],
      },
    }),
    remoteId: 'C1:1.000100',
    asked: /channel=C1.*oldest=\d{10}(&|$)|oldest=\d{10}.*channel=C1/,
  },
  'github/issue.changed': {
    answers: (iso) => ({ '/search/issues': { total_count: 1, items: [issue(iso)] } }),
    remoteId: 'octo/cat:7',
    asked: /q=is:issue involves:@me updated:>=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/,
  },
  'github/pull_request.changed': {
    answers: (iso) => ({ '/search/issues': { total_count: 1, items: [issue(iso)] } }),
    remoteId: 'octo/cat:7',
    asked: /q=is:pr involves:@me updated:>=\d{4}-/,
  },
  'github/repository.pushed': {
    answers: (iso) => ({
      '/user/repos': [{ id: 5, full_name: 'octo/cat', created_at: iso, updated_at: iso, pushed_at: iso }],
    }),
    remoteId: '5',
    asked: /sort=pushed/,
  },
  'github/notification.received': {
    answers: (iso) => ({
      '/notifications': [
        {
          id: '9',
          repository: { full_name: 'octo/cat' },
          subject: { title: 'Hi', type: 'Issue' },
          updated_at: iso,
        },
      ],
    }),
    remoteId: '9',
    asked: /since=\d{4}-/,
  },
  'gitlab/issue.changed': {
    answers: (iso) => ({ '/issues': [{ id: 76, iid: 6, project_id: 1, title: 'T', ...changed(iso) }] }),
    remoteId: '76',
    asked: /scope=all.*updated_after=\d{4}-|updated_after=\d{4}-.*scope=all/,
  },
  'gitlab/merge_request.changed': {
    answers: (iso) => ({
      '/merge_requests': [{ id: 8, iid: 6, project_id: 1, title: 'T', ...changed(iso) }],
    }),
    remoteId: '8',
    asked: /updated_after=\d{4}-/,
  },
  'gmail/message.received': {
    answers: () => ({ '/messages': { messages: [{ id: 'm1', threadId: 't1' }], resultSizeEstimate: 1 } }),
    remoteId: 'm1',
    asked: /q=after:\d{10}/,
  },
  'google-calendar/event.changed': {
    answers: (iso) => ({
      '/users/me/calendarList': { items: [{ id: 'ada@example.com' }] },
      '/calendars/ada@example.com/events': { items: [{ id: 'e1', created: iso, updated: iso }] },
    }),
    remoteId: 'ada@example.com:e1',
    asked: /updatedMin=\d{4}-/,
  },
  'google-drive/file.changed': {
    answers: (iso) => ({
      '/drive/v3/files': { files: [{ id: 'f1', name: 'Plan', createdTime: iso, modifiedTime: iso }] },
    }),
    remoteId: 'f1',
    asked: /q=.*modifiedTime > '\d{4}-/,
  },
  'notion/page.changed': {
    answers: (iso) => ({
      '/search': {
        results: [{ object: 'page', id: 'p1', created_time: iso, last_edited_time: iso }],
        has_more: false,
        next_cursor: null,
      },
    }),
    remoteId: 'p1',
    asked: /"timestamp":"last_edited_time"/,
  },
  'dropbox/file.changed': {
    answers: (iso) => ({
      '/files/list_folder': {
        entries: [{ '.tag': 'file', id: 'id:1', name: 'a.txt', rev: 'r1', server_modified: iso }],
        cursor: 'c',
        has_more: false,
      },
    }),
    remoteId: 'id:1',
    asked: /"recursive":true/,
  },
  'microsoft-outlook/message.received': {
    answers: (iso) => ({
      '/me/mailFolders/inbox/messages': { value: [{ id: 'AAMk', subject: 'Hi', receivedDateTime: iso }] },
    }),
    remoteId: 'AAMk',
    asked: /\$filter=receivedDateTime ge \d{4}-/,
  },
  'zoom/meeting.scheduled': {
    answers: (iso) => ({ '/users/me/meetings': { meetings: [{ id: 3, topic: 'T', created_at: iso }] } }),
    remoteId: '3',
    asked: /type=scheduled/,
  },
  'zoom/recording.completed': {
    answers: (iso) => ({
      '/users/me/recordings': { meetings: [{ uuid: 'u==', id: 3, start_time: iso, recording_count: 1 }] },
    }),
    remoteId: 'u==',
    asked: /from=\d{4}-\d\d-\d\d(&|$)/,
  },
  'stripe/subscription.changed': {
    answers: (iso) => ({
      '/subscriptions': listOf({ id: 'sub_1', status: 'active', items: { data: [] }, created: seconds(iso) }),
    }),
    remoteId: 'sub_1',
    asked: /status=all/,
  },
  'stripe/dispute.changed': {
    answers: (iso) => ({
      '/disputes': listOf({ id: 'dp_1', status: 'needs_response', created: seconds(iso) }),
    }),
    remoteId: 'dp_1',
    asked: /limit=/,
  },
  'stripe/payout.changed': {
    answers: (iso) => ({ '/payouts': listOf({ id: 'po_1', status: 'paid', created: seconds(iso) }) }),
    remoteId: 'po_1',
    asked: /limit=/,
  },
  'shopify/draft_order.changed': {
    answers: (iso) => ({
      '/graphql.json': {
        data: {
          draftOrders: {
            nodes: [
              {
                legacyResourceId: '7',
                name: '#D1',
                status: 'OPEN',
                totalPriceSet: { shopMoney: { amount: '1.00' } },
                createdAt: iso,
                updatedAt: iso,
              },
            ],
            pageInfo: { hasNextPage: false, endCursor: null },
          },
        },
      },
    }),
    remoteId: '7',
    asked: /draftOrders/,
  },
  'square/refund.changed': {
    answers: (iso) => ({ '/refunds': { refunds: [{ id: 'rf_1', status: 'COMPLETED', ...changed(iso) }] } }),
    remoteId: 'rf_1',
    asked: /updated_at_begin_time=\d{4}-/,
  },
  'woocommerce/coupon.changed': {
    answers: (iso) => {
      const time = iso.slice(0, 19);
      return { '/coupons': [{ id: 719, code: '10off', date_created_gmt: time, date_modified_gmt: time }] };
    },
    remoteId: '719',
    asked: /per_page=/,
  },
};

function listOf(record: Json): Json {
  return { object: 'list', has_more: false, data: [record] };
}

function issue(iso: string) {
  return {
    number: 7,
    title: 'T',
    repository_url: 'https://api.github.com/repos/octo/cat',
    labels: [],
    assignees: [],
    ...changed(iso),
  };
}

test('every event source is tried in this file', () => {
  const own = shipped.flatMap(({ connectorId, definition }) =>
    Object.keys(definition.events).map((name) => `${connectorId}/${name}`),
  );
  expect(own.toSorted()).toEqual(Object.keys(TRIGGERS).toSorted());
});

const clock = manualClock();
let folder: string;
let upstream: Upstream;
let service: Service;
let userId: string;
let answers: Record<string, Json> = {};
let requests: string[] = [];
/** Facts of an account that satisfy the probes of all apps. */
const ACCOUNT = {
  ok: true,
  id: 'a1',
  team_id: 'T1',
  team: 'Team',
  account_id: 'a1',
  emailAddress: 'a@example.com',
  merchant: { id: 'a1' },
};

/** Returns the file of a shipped connector that calls the app of this test with a token. */
function localFile(connectorId: string): string {
  return readFileSync(join(CATALOG_FOLDER, connectorId, 'connector.yaml'), 'utf8')
    .replace(/^authentication:\n[\s\S]*?^(?=[a-z])/m, 'authentication: [{type: bearer}]\n')
    .replaceAll(/^ +authentication: \[.*\]\n/gm, '')
    .replaceAll("'{clientSecret}'", "'{token}'")
    .replaceAll(/^variables:\n[\s\S]*?^(?=[a-z])/gm, '')
    .replace(/^baseUrl: .*$/m, `baseUrl: ${upstream.origin}`);
}

beforeAll(async () => {
  upstream = await startUpstream();
  upstream.handler = (req, res) => {
    let text = '';
    req.on('data', (chunk) => (text += String(chunk)));
    req.on('end', () => {
      const url = new URL(req.url ?? '', upstream.origin);
      const found = answers[decodeURIComponent(url.pathname)];
      if (found !== undefined) requests.push(decodeURIComponent(url.search.replaceAll('+', ' ')) + text);
      res.sendDate = false;
      res.setHeader('date', new Date(clock.now()).toUTCString());
      json(res, 200, found ?? ACCOUNT);
    });
  };
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-triggers-'));
  for (const connectorId of new Set(Object.keys(TRIGGERS).map((scope) => scope.split('/')[0] ?? ''))) {
    mkdirSync(join(folder, connectorId));
    writeFileSync(join(folder, connectorId, 'connector.yaml'), localFile(connectorId));
  }
  service = await startService({ clock, catalogFolder: folder, env: { GATEHOUSE_SANDBOX: '0' } });
  await service.context.sources.close();
  userId = (await service.call('POST', '/users', { body: { username: 'ada' } })).text('userId');
});
afterAll(async () => {
  await service.stop();
  await upstream[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

async function poll(connectionId: string): Promise<void> {
  for (const source of await claimSources(service.context, 1000))
    if (source.credentialId === connectionId) await pollSource(service.context, source);
}

test.each(Object.entries(TRIGGERS))('%s reports a new record', async (scope, trigger) => {
  const [connectorId = ''] = scope.split('/');
  answers = {};
  const connected = await service.call('POST', `/users/${userId}/credentials`, {
    headers: { 'x-svc-userid': userId },
    body: { connectorId, data: { token: 'token_0123456789' } },
  });
  expect(connected.status).toBe(201);
  const connectionId = await separate(service, connected.text('credentialId'));
  const subscribed = await service.call('POST', `/2023-03/one/webhooks?connectionId=${connectionId}`, {
    body: { address: 'https://127.0.0.1:9/never', scope },
  });
  const webhooks = shipped.find((one) => one.connectorId === connectorId)?.definition.webhooks;
  const topics = webhooks?.register ? webhooks.topics : {};
  const source = Object.hasOwn(topics, nameInFile(sourceScope.parse(scope))) ? 'native' : 'polling';
  expect([subscribed.status, subscribed.at('source')]).toEqual([201, source]);
  // The first poll finds nothing, as at an account without records.
  answers = emptied(trigger.answers(new Date(clock.now()).toISOString()));
  await poll(connectionId);
  clock.advance(10 * MINUTE);
  const iso = new Date(clock.now() - MINUTE).toISOString();
  answers = trigger.answers(iso);
  requests = [];
  await poll(connectionId);
  const events = await service.context.db
    .selectFrom('events')
    .innerJoin('sources', 'sources.source_id', 'events.source_id')
    .select(['events.event', 'events.body', 'sources.reason'])
    .where('sources.credential_id', '=', connectionId)
    .execute();
  const remoteId = trigger.remoteId.replace('1.000100', `${seconds(iso)}.000100`);
  expect(events.map(({ event, body }) => [event, JSON.parse(body).remoteId])).toEqual([
    ['created', remoteId],
  ]);
  expect(requests.at(-1)).toMatch(trigger.asked);
});

/** Returns the answers without their records. */
function emptied(full: Record<string, Json>): Record<string, Json> {
  const paths = Object.keys(full);
  const last = paths.at(-1) ?? '';
  const without = (value: Json): Json => {
    if (Array.isArray(value)) return [];
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, without(member ?? null)]));
  };
  return { ...full, [last]: without(full[last] ?? null) };
}
