import { join } from 'node:path';
import { expect, test } from 'vitest';
import { newApiKey } from '../../src/crypto/tokens.ts';
import { openStore } from '../../src/store/open-database.ts';
import { cliEnv, runCli, startCli, tempHome } from '../support/cli.ts';
import { notesFile } from '../support/custom.ts';
import { PATIENCE_MS } from '../support/until.ts';

/* `gatehouse doctor` and connectors of the store that this release can no longer read. */

test(
  'doctor names a stored connector that is faulty now, its fields and the remedy',
  async () => {
    using home = tempHome();
    const key = newApiKey('development');
    const env = cliEnv(home.path, {
      GATEHOUSE_DEVELOPMENT_KEY: key,
      GATEHOUSE_PRODUCTION_KEY: newApiKey('production'),
    });
    {
      await using service = await startCli(env);
      const send = async (method: string, path: string, body: object) => {
        const answer = await fetch(`${service.url}${path}`, {
          method,
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
          body: JSON.stringify(body),
        });
        expect([path, answer.ok]).toEqual([path, true]);
      };
      for (const id of ['notes', 'diary', 'pages'])
        await send('POST', '/api/connectors', { definition: notesFile('https://notes.example.com', { id }) });
      await send('PUT', '/api/connectors/pages/overlay', { timeoutSeconds: 20 });
      await service.stop();
    }
    const stored = async () => {
      const { out } = await runCli(['doctor', '--json'], env);
      const { findings } = JSON.parse(out) as { findings: { name: string; state: string }[] };
      return findings.filter(({ name }) => name === 'stored connectors');
    };
    expect(await stored()).toEqual([{ name: 'stored connectors', state: 'ok', found: '3, all readable' }]);

    // An earlier release accepted what this one does not.
    await using store = await openStore({ kind: 'sqlite', path: join(home.path, 'gatehouse.db') });
    const change = (id: string) =>
      store.db.updateTable('custom_connector_versions').where('connector_id', '=', id);
    const source = JSON.stringify(
      notesFile('https://notes.example.com').replace('request: GET', 'reqest: GET'),
    );
    await change('notes').set({ source, checker: 'earlier' }).execute();
    await change('pages').set({ overlay: '{"timeoutSeconds": 0}', checker: 'earlier' }).execute();
    expect(await stored()).toEqual([
      {
        name: 'stored connectors',
        state: 'fail',
        found: expect.stringMatching(
          /^notes of development \(version 1\) is left out: .*actions\.list_notes\.reqest: is not a known member\. Did you mean "request"\? \(line 12\)/,
        ),
        fix: 'Correct these fields with PUT /api/connectors/notes, or remove it with DELETE.',
      },
      {
        name: 'stored connectors',
        state: 'fail',
        found: expect.stringContaining('timeoutSeconds'),
        fix: 'Correct these fields with PUT /api/connectors/pages/overlay, or remove it with DELETE.',
      },
    ]);
    expect((await runCli(['doctor'], env)).code).toBe(1);
  },
  PATIENCE_MS,
);
