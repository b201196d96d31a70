import { afterAll, beforeAll, expect, test } from 'vitest';
import { faultsOfFile, startFileApp, type FileApp } from '../../support/file-app.ts';

/* Messages for callers and authors of connectors. */

const FILE = `baseUrl: '{origin}'
authentication: [{type: bearer}]
errors: {message: [errors]}
actions:
  create_entry:
    description: Books time on an issue or on a project.
    request: POST /entries
    body:
      issueId: {type: string}
      projectId: {type: string}
      hours: {type: number}
    rules: {anyOf: [{required: [issueId]}, {required: [projectId]}]}
`;

let app: FileApp;
beforeAll(async () => {
  app = await startFileApp(FILE);
  await app.connect({ token: 'token-of-the-tests' });
});
afterAll(() => app[Symbol.asyncDispose]());

test('a refusal names the alternatives of which an input has none', async () => {
  const refused = await app.execute('create_entry', { hours: 1 });
  expect([refused.status, refused.at('details.faults')]).toEqual([
    400,
    [{ field: '(whole)', rule: 'needs at least one of: issueId, projectId' }],
  ]);
});

test('a list of sentences of the app becomes one line', async () => {
  app.answer = () => ({ status: 422, body: { errors: ['Hours is invalid', 'Issue is closed'] } });
  const refused = await app.execute('create_entry', { issueId: '1' });
  expect(refused.text('error')).toContain('(HTTP 422: Hours is invalid; Issue is closed)');
});

test.each([
  ['message: [errors]', "message: ['errors.*']", 'takes no *'],
  ['description: Books time on an issue or on a project.', 'x: {description: Hours: 1}', 'Quote the text'],
])('a fault of %s is named with what helps', async (from, to, rule) => {
  expect((await faultsOfFile(FILE.replace(from, to))).join('\n')).toContain(rule);
});
