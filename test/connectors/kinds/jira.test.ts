import { afterEach, expect, test } from 'vitest';
import { startConsentApp, type ConsentApp } from '../../support/consent-app.ts';
import { faultsOfFile, lineOf, type AppAnswer, type Arrived } from '../../support/file-app.ts';

/* An app as Jira: a consent for several sites, whose id is in the path of each call. */

const FILE = `baseUrl: '{origin}/ex/jira/{cloudId}/rest/api/3'
authentication:
  - type: oauth2
    authorizeUrl: '{origin}/authorize'
    authorizeParams: {audience: api.app.example.com, prompt: consent}
    tokenUrl: '{origin}/token'
    tokenRequest: json
    scopes: [read:jira-work, write:jira-work, offline_access]
    lookup:
      url: '{origin}/oauth/token/accessible-resources'
      choose: {id: id, label: name, detail: url}
    capture: {cloudId: {from: 'lookup:id'}}
    revocation: {url: '{origin}/revoke'}
probe: get_myself
errors: {message: [errorMessages.0]}
paging:
  tokens: {style: cursor, cursorParam: nextPageToken, next: 'body:nextPageToken', limitParam: maxResults, maxLimit: 2}
  offsets: {style: offset, offsetParam: startAt, limitParam: maxResults, maxLimit: 2, total: 'body:total'}
actions:
  get_myself: {description: The user behind the token., request: GET /myself}
  search_issues: {description: Issues., request: GET /search/jql, query: {jql: {type: string}}, paging: tokens, response: {data: issues}}
  list_projects: {description: Projects., request: GET /project/search, paging: offsets, response: {data: values}}
  create_issue:
    description: Creates an issue.
    request: POST /issue
    wrap: fields
    body:
      projectKey: {type: string, required: true, as: project.key}
      summary: {type: string, required: true}
      text:
        type: string
        as: description
        encode: {within: {type: doc, version: 1, content: [{type: paragraph, content: [{type: text, text: '{value}'}]}]}}
  update_issue:
    description: Changes an issue.
    request: PUT /issue/{key}
    path: {key: {type: string, required: true}}
    wrap: fields
    body: {summary: {type: string}}
`;
const SITES = [
  { id: 'cloud-1', name: 'Alpha', url: 'https://alpha.app.example.com', scopes: ['read:jira-work'] },
  { id: 'cloud-7', name: 'Beta', url: 'https://beta.app.example.com', scopes: ['read:jira-work'] },
  // The app lists a site once for each of its products.
  { id: 'cloud-7', name: 'Beta', url: 'https://beta.app.example.com', scopes: ['read:confluence'] },
];

let jira: ConsentApp | undefined;
afterEach(() => jira?.[Symbol.asyncDispose]());

/** Answers as two sites with issues of their own. */
function answer(issues: { key: string; summary: string }[]) {
  return ({ method, path, query, body }: Arrived): AppAnswer => {
    if (path === '/oauth/token/accessible-resources') return { body: SITES };
    const [, site, rest = ''] = /^\/ex\/jira\/(cloud-[17])\/rest\/api\/3\/(.*)$/.exec(path) ?? [];
    if (site === undefined) return { status: 404, body: { errorMessages: ['no such site'] } };
    if (rest === 'myself') return { body: { accountId: `ada@${site}` } };
    if (site === 'cloud-1') return { status: 403, body: { errorMessages: ['not your site'] } };
    const [, key] = /^issue\/(.+)$/.exec(rest) ?? [];
    if (method === 'PUT') {
      const issue = issues.find((one) => one.key === key);
      if (!issue) return { status: 404, body: { errorMessages: ['no such issue'] } };
      issue.summary = JSON.parse(body).fields.summary;
      return { status: 204, body: '' };
    }
    if (method === 'POST') {
      const made = { key: `A-${issues.length + 1}`, summary: JSON.parse(body).fields.summary };
      issues.push(made);
      return { status: 201, body: { key: made.key } };
    }
    const from = Number(query.get('nextPageToken') ?? query.get('startAt') ?? 0);
    const page = issues.slice(from, from + Number(query.get('maxResults')));
    const end = from + page.length;
    return rest === 'search/jql'
      ? { body: { issues: page, ...(end < issues.length ? { nextPageToken: String(end) } : {}) } }
      : { body: { values: page, total: issues.length } };
  };
}

test('a file alone drives consent, choice of the site, paging, create and update', async () => {
  jira = await startConsentApp(FILE);
  const { app } = jira;
  const issues = ['A-1', 'A-2', 'A-3'].map((key) => ({ key, summary: `Issue ${key}` }));
  jira.api = answer(issues);
  const at = await jira.begin();
  expect(Object.fromEntries(jira.asked[0] ?? [])).toMatchObject({
    audience: 'api.app.example.com',
    prompt: 'consent',
    scope: 'read:jira-work write:jira-work offline_access',
  });
  expect((await jira.session(at)).at('choosing.accounts')).toEqual([
    { accountId: 'cloud-1', label: 'Alpha', detail: 'https://alpha.app.example.com', connected: false },
    { accountId: 'cloud-7', label: 'Beta', detail: 'https://beta.app.example.com', connected: false },
  ]);
  expect((await jira.choose(at, 'cloud-7')).at('result.success')).toBe(true);
  expect((await jira.credentials()).at('data.0')).toMatchObject({
    name: 'Beta',
    account: { id: 'cloud-7', name: 'Beta' },
    state: 'active',
  });

  for (const action of ['search_issues', 'list_projects'])
    expect((await app.execute(action, { limit: 10 })).at('data')).toEqual(issues);
  const made = await app.execute('create_issue', { projectKey: 'A', summary: 'S', text: 'Hello "you"' });
  expect(made.at('data')).toEqual({ key: 'A-4' });
  expect(JSON.parse(app.seen.at(-1)?.body ?? '')).toEqual({
    fields: {
      project: { key: 'A' },
      summary: 'S',
      description: {
        type: 'doc',
        version: 1,
        content: [{ type: 'paragraph', content: [{ type: 'text', text: 'Hello "you"' }] }],
      },
    },
  });
  expect((await app.execute('update_issue', { key: 'A-4', summary: 'T' })).status).toBe(200);
  expect(issues.at(-1)).toEqual({ key: 'A-4', summary: 'T' });
});

test.each<[from: string, to: string, fault: string]>([
  ["from: 'lookup:id'", "from: 'token:id'", 'changes nothing: no capture reads a lookup: path of the choice'],
  ['choose: {id: id', 'choose: {identifier: id', 'is not a known member'],
  ['choose: {id: id, label: name', 'choose: {id: id', 'label'],
  ['- type: oauth2', '- type: oauth2_client_credentials', 'works only with oauth2'],
])('check finds %s replaced by %s with its line', async (from, to, fault) => {
  let file = FILE.replace(from, to);
  if (to.includes('client_credentials'))
    file = file.replace(/ {4}(authorizeUrl|authorizeParams|revocation):.*\n/g, '');
  const faults = await faultsOfFile(file);
  expect(faults.join('\n')).toContain(fault);
  expect(faults.map((one) => Number(one.split(' ')[0]))).toContain(lineOf(file, 'choose:'));
});
