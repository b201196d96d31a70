import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { cliEnv, runCli, startCli, tempHome } from '../support/cli.ts';
import { until } from '../support/until.ts';

const keys = z.object({
  data: z.array(
    z.object({ keyId: z.string(), name: z.string(), kind: z.string(), scopes: z.array(z.string()) }),
  ),
});

test('keys create, list, rotate and revoke work against the store of a running service', async () => {
  using home = tempHome();
  const env = cliEnv(home.path);
  await using gatehouse = await startCli(env);
  await until(() => existsSync(join(home.path, 'first-keys')));
  const status = async (key: string) =>
    (await fetch(`${gatehouse.url}/api/servers`, { headers: { authorization: `Bearer ${key}` } })).status;

  const args = ['keys', 'create', '--name', 'deploy', '--scopes', 'servers:read, users:read'];
  const made = await runCli([...args, '--expires-days', '30', '--environment', 'production'], env);
  expect(made.code).toBe(0);
  expect(made.out).toMatch(/^gh_prod_\w{49}\n$/);
  expect(made.err).toMatch(/^The production API key "deploy" is key_\w+\. It expires at .*\n$/);
  expect(await status(made.out.trim())).toBe(200);

  const listed = keys.parse(JSON.parse((await runCli(['keys', 'list', '--json'], env)).out));
  expect(listed.data.map(({ kind, name }) => [kind, name])).toEqual([
    ['environment', 'development'],
    ['environment', 'production'],
    ['named', 'deploy'],
  ]);
  const lines = (await runCli(['keys', 'list', '--environment', 'production'], env)).out.split('\n');
  expect(lines[0]).toMatch(/^KEY +ENVIRONMENT +NAME +STATUS +LAST USED +SCOPES$/);
  expect(lines[2]).toMatch(
    /^key_\w+ +production +deploy +active +\d{4}-\d\d-\d\d [\d:]{8}Z +servers:read,users:read$/,
  );

  const keyId = listed.data[2]?.keyId ?? '';
  const rotated = await runCli(['keys', 'rotate', keyId, '--overlap-seconds', '600'], env);
  expect(rotated.err).toBe(
    'The API key "deploy" is new; the old one ends in 600 seconds. It is not shown again.\n',
  );
  expect([await status(made.out.trim()), await status(rotated.out.trim())]).toEqual([200, 200]);

  expect(await runCli(['keys', 'revoke', keyId], env)).toMatchObject({ code: 0, out: '' });
  await until(async () => (await status(rotated.out.trim())) === 401);
  expect(await status(made.out.trim())).toBe(401);
  const gone = await runCli(['keys', 'revoke', keyId], env);
  expect(gone).toMatchObject({ code: 1, err: expect.stringContaining('There is no API key') });
});
