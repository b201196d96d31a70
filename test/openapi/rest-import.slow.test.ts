import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startNotes, type NotesApp } from '../support/custom.ts';
import { startService, type Service } from '../support/service.ts';
import { STORE_KINDS, testOnce } from '../support/stores.ts';
import { PATIENCE_MS, until } from '../support/until.ts';
import { documentWith, operation } from './documents.ts';

const SOON = { timeout: PATIENCE_MS };
const id = { name: 'id', in: 'path', required: true, schema: { type: 'string' } };

describe.each(STORE_KINDS)('OpenAPI documents over REST on %s', (kind) => {
  const once = testOnce(kind);
  let here: Service;
  let there: Service;
  let app: NotesApp;
  let userId: string;
  beforeAll(async () => {
    app = await startNotes();
    here = await startService({ kind });
    there = await startService({ env: here.env });
    userId = (await here.call('POST', '/users', { body: { username: 'ada' } })).text('userId');
  });
  afterAll(async () => {
    await there.stop();
    await here.stop();
    await app[Symbol.asyncDispose]();
  });

  /** Returns a document of an app with tickets; `paths`: further operations. */
  const desk = (paths: object = {}, tickets: object = {}) =>
    documentWith(
      {
        '/tickets': { get: operation({ operationId: 'listTickets', tags: ['tickets'], ...tickets }) },
        '/tickets/{id}': { delete: operation({ operationId: 'removeTicket', parameters: [id] }) },
        ...paths,
      },
      { servers: [{ url: app.origin }] },
    );
  const add = (connectorId: string, document: unknown, more: object = {}) =>
    here.call('POST', '/api/connectors', { body: { openapi: { document, connectorId, ...more } } });
  const put = (connectorId: string, document: unknown, more: object = {}) =>
    here.call('PUT', `/api/connectors/${connectorId}`, { body: { openapi: { document }, ...more } });
  const overlay = (connectorId: string, body: object) =>
    here.call('PUT', `/api/connectors/${connectorId}/overlay`, { body });
  const actions = async (connectorId: string, service = here) => {
    const read = await service.call('GET', `/connectors/${connectorId}/actions`, {
      bearer: here.developmentKey,
    });
    const { data } = read.body as { data: { actionId: string; effect: string; raw?: true }[] };
    return Object.fromEntries(
      data.filter(({ raw }) => !raw).map(({ actionId, effect }) => [actionId, effect]),
    );
  };

  test(
    'a document becomes a connector that every process calls',
    async () => {
      const made = await add('desk', desk());
      expect([made.status, made.body]).toEqual([
        201,
        {
          connectorId: 'desk',
          version: 1,
          report: expect.objectContaining({ operations: 2, imported: 2, leftOut: [] }),
        },
      ]);
      expect((await here.call('GET', '/api/connectors/desk')).body).toMatchObject({
        kind: 'openapi',
        overlay: null,
        text: null,
      });
      await until(
        async () =>
          (await there.call('GET', '/connectors/desk', { bearer: here.developmentKey })).status === 200,
      );
      const run = await there.call('POST', '/connectors/desk/actions/list_tickets/execute', {
        bearer: here.developmentKey,
        headers: { 'x-svc-userid': userId },
        body: { input: {} },
      });
      expect(run.at('data.path')).toBe('/tickets');
    },
    PATIENCE_MS,
  );

  once?.(
    'a choice of operations stays for the next import',
    async () => {
      const made = await add('chosen', JSON.stringify(desk()), { include: { tags: ['tickets'] } });
      expect(made.at('report.notChosen')).toBe(1);
      const again = await put('chosen', desk({ '/more': { get: operation({ tags: ['more'] }) } }));
      expect([again.at('version'), again.at('report.notChosen')]).toEqual([1, 2]);
      expect(await actions('chosen')).toEqual({ list_tickets: 'read' });
    },
    PATIENCE_MS,
  );

  once?.(
    'an import that breaks callers is stored only when it is accepted',
    async () => {
      await add('fragile', desk());
      const without = documentWith(
        { '/tickets': { get: operation({ operationId: 'readAll' }) } },
        {
          servers: [{ url: app.origin }],
        },
      );
      const refused = await put('fragile', without);
      expect([refused.status, refused.at('code'), refused.at('details.breaking')]).toEqual([
        409,
        'breaking_changes',
        ['remove_ticket: the action is gone'],
      ]);
      const dry = await put('fragile', without, { dryRun: true });
      expect([dry.status, dry.at('version'), dry.at('changes.removed')]).toEqual([200, 1, ['remove_ticket']]);
      const accepted = await here.call('POST', '/api/connectors/fragile/reimport', {
        body: { openapi: { document: without }, acceptBreaking: true },
      });
      expect([accepted.at('version'), accepted.at('breaking')]).toEqual([
        2,
        ['remove_ticket: the action is gone'],
      ]);
      // The id of an action stays when the document renames its operation.
      expect(await actions('fragile')).toEqual({ list_tickets: 'read' });
      expect((await put('fragile', without)).at('version')).toBe(2);
    },
    PATIENCE_MS,
  );

  once?.(
    'an overlay stays over imports, and reaches other processes',
    async () => {
      await add('tuned', desk());
      const put1 = await overlay('tuned', {
        actions: { list_tickets: { description: 'Lists what people ask.' }, remove_ticket: null },
      });
      expect([put1.status, put1.at('version'), put1.at('unused')]).toEqual([200, 2, []]);
      expect(await actions('tuned')).toEqual({ list_tickets: 'read' });
      const again = await put('tuned', desk({ '/more': { get: operation({ operationId: 'more' }) } }));
      expect([again.at('version'), again.at('changes.added')]).toEqual([3, ['more']]);
      await until(async () => 'more' in (await actions('tuned', there)));
      const one = await there.call('GET', '/connectors/tuned/actions/list_tickets', {
        bearer: here.developmentKey,
      });
      expect(one.text('description')).toBe('Lists what people ask.');
      const diff = await here.call('GET', '/api/connectors/tuned/versions/1/diff/2');
      expect(diff.at('removed')).toEqual(['remove_ticket']);
      const removed = await here.call('DELETE', '/api/connectors/tuned/overlay');
      expect([removed.at('version'), removed.at('overlay')]).toEqual([4, null]);
      expect(Object.keys(await actions('tuned'))).toEqual(['list_tickets', 'remove_ticket', 'more']);
    },
    PATIENCE_MS,
  );

  once?.(
    'a faulty overlay is refused by field, and an unknown action is named',
    async () => {
      await add('strict', desk());
      const refused = await overlay('strict', { actions: { list_tickets: { effect: 'harmless' } } });
      expect([refused.status, refused.at('details.faults.0.field')]).toEqual([
        400,
        'overlay.actions.list_tickets.effect',
      ]);
      const moved = await overlay('strict', { id: 'other' });
      expect([moved.status, moved.at('details.faults.0.field')]).toEqual([400, 'overlay.id']);
      const unknown = await overlay('strict', { actions: { gone: { effect: 'read' } } });
      expect([unknown.status, unknown.at('unused')]).toEqual([200, ['gone']]);
      expect((await here.call('GET', '/api/connectors/strict/overlay')).body).toEqual({
        connectorId: 'strict',
        version: 2,
        overlay: { actions: { gone: { effect: 'read' } } },
        unused: ['gone'],
      });
    },
    PATIENCE_MS,
  );

  test(
    'two imports at once are both compared with the version before',
    async () => {
      await add('busy', desk());
      const [a, b] = await Promise.all([
        put('busy', desk({ '/a': { get: operation({ operationId: 'a' }) } })),
        put('busy', desk({ '/b': { get: operation({ operationId: 'b' }) } })),
      ]);
      expect([a.status, b.status].toSorted()).toEqual([200, 409]);
      const refused = a.status === 409 ? a : b;
      expect(String(refused.at('details.breaking'))).toMatch(/^[ab]: the action is gone$/);
      expect((await here.call('GET', '/api/connectors/busy')).at('version')).toBe(2);
    },
    PATIENCE_MS,
  );

  once?.each<[string, object, string]>([
    ['another document', { paths: { '/x': { $ref: 'other.yaml#/x' } } }, 'leaves the document'],
    ['an address', { paths: { '/x': { $ref: 'https://example.com/x' } } }, 'is not followed'],
  ])(
    'a document with %s is refused',
    async (_, more, message) => {
      const refused = await add('refused', { ...desk(), ...more });
      expect([refused.status, refused.at('code')]).toEqual([400, 'invalid_request']);
      expect(refused.text('error')).toContain(message);
      expect((await here.call('GET', '/api/connectors/refused')).status).toBe(404);
    },
    PATIENCE_MS,
  );

  once?.(
    'a large document is imported while the service answers',
    async () => {
      const description = 'x'.repeat(8 * 1024 * 1024);
      const document = { ...desk(), components: { examples: { a: { description } } } };
      const state = { imports: true };
      const importing = add('large', document).finally(() => (state.imports = false));
      let answered = 0;
      for (; state.imports; answered++) expect((await here.call('GET', '/health')).status).toBe(200);
      expect((await importing).status).toBe(201);
      expect(answered).toBeGreaterThan(5);
      const larger = await add('larger', { ...document, info: { title: description } });
      expect([larger.status, larger.at('code')]).toEqual([413, 'payload_too_large']);
      const file = await here.call('POST', '/api/connectors', { body: { definition: description } });
      expect([file.status, file.at('code')]).toEqual([413, 'payload_too_large']);
    },
    PATIENCE_MS,
  );

  once?.(
    'an import that a client leaves stores nothing, and the next one runs',
    async () => {
      const aborted = new AbortController();
      const left = fetch(`${here.url}/api/connectors`, {
        method: 'POST',
        headers: { authorization: `Bearer ${here.developmentKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({ openapi: { document: desk(), connectorId: 'left' } }),
        signal: aborted.signal,
      });
      aborted.abort();
      await expect(left).rejects.toThrow('abort');
      expect((await add('next', desk())).status).toBe(201);
      expect((await here.call('GET', '/api/connectors/left')).status).toBe(404);
    },
    PATIENCE_MS,
  );

  once?.(
    'imports beyond the queue are refused and store nothing',
    async () => {
      const answers = await Promise.all(
        Array.from({ length: 14 }, (_, index) => add(`queued-${index}`, desk())),
      );
      const statuses = answers.map(({ status }) => status);
      expect(statuses).toContain(503);
      expect(statuses.filter((status) => status === 201).length).toBeGreaterThanOrEqual(2);
      for (const [index, status] of statuses.entries()) {
        const read = await here.call('GET', `/api/connectors/queued-${index}`);
        expect(read.status).toBe(status === 201 ? 200 : 404);
      }
    },
    SOON.timeout,
  );
});
