import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { faultsOfFile, lineOf, startFileApp, type FileApp } from '../../support/file-app.ts';

/** The ways in which OpenAPI writes lists and objects, cookies, and bodies that are no object. */
const FILE = `baseUrl: '{origin}'
authentication:
  - {type: custom, fields: {session: {title: Session, secret: true}}, apply: {headers: {Cookie: 'sid={session}'}}}
actions:
  list_styles:
    description: Styles of a query.
    request: GET /styles/{ids}
    path: {ids: {type: array, items: {type: string}, style: comma}}
    query:
      spaced: {type: array, items: {type: string}, style: space}
      piped: {type: array, items: {type: string}, style: pipe}
      filter: {type: object, style: members}
    headers: {x_tags: {type: array, items: {type: string}, style: comma}}
    cookies:
      theme: {type: string}
      page_size: {type: integer, as: page-size}
  replace_all:
    description: Sends a list.
    request: PUT /all
    body: {items: {type: array, items: {type: object}, whole: true, required: true}}
  touch:
    description: Sends any object, or no body.
    request: POST /touch
    body: {content: {type: object, whole: true}}
`;

describe('lists, objects, cookies and whole bodies', () => {
  let app: FileApp;
  beforeAll(async () => {
    app = await startFileApp(FILE);
    await app.connect({ session: 'a secret session' });
  });
  beforeEach(() => void app.seen.splice(0));
  afterAll(() => app[Symbol.asyncDispose]());

  test('a query, a path and a header carry lists and objects in their styles', async () => {
    const input = {
      ids: ['a/b', 'c'],
      spaced: ['x', 'y z'],
      piped: [1, 2].map(String),
      filter: { color: 'red', sizes: ['s', 'm'] },
      x_tags: ['one', 'two'],
    };
    expect((await app.execute('list_styles', input)).status).toBe(200);
    const [seen] = app.seen;
    expect(seen?.target.split('?')[0]).toBe('/styles/a%2Fb,c');
    expect([...(seen?.query ?? [])]).toEqual([
      ['spaced', 'x y z'],
      ['piped', '1|2'],
      ['color', 'red'],
      ['sizes', 's'],
      ['sizes', 'm'],
    ]);
    expect(seen?.headers['x-tags']).toBe('one,two');
  });

  test('cookies of the action and of the credential share one header', async () => {
    await app.execute('list_styles', { ids: ['a'], theme: 'dark; sid=stolen', page_size: 20 });
    expect(app.seen[0]?.headers.cookie).toBe(
      'theme=dark%3B%20sid%3Dstolen; page-size=20; sid=a secret session',
    );
  });

  test('a whole body is a list, an object, or absent', async () => {
    await app.execute('replace_all', { items: [{ id: 1 }, { id: 2 }] });
    await app.execute('touch', { content: { any: { member: true } } });
    await app.execute('touch');
    expect(app.seen.map(({ body }) => body)).toEqual(['[{"id":1},{"id":2}]', '{"any":{"member":true}}', '']);
    expect(app.seen[2]?.headers['content-type']).toBeUndefined();
  });
});

describe('the check of whole bodies and cookies', () => {
  test('a whole body allows no other member and no form', async () => {
    const other = FILE.replace('body: {content:', 'body: {note: {type: string}, content:');
    const rule =
      'is the whole JSON body, so there can be no other member, wrap, graphql, bodyMap or idempotencyParam';
    expect(await faultsOfFile(other)).toEqual([
      `${lineOf(other, '{note:')} actions.touch.body.content.whole: ${rule}`,
    ]);
    const form = FILE.replace('request: POST /touch', 'request: POST /touch\n    bodyType: form');
    expect(await faultsOfFile(form)).toEqual([
      `${lineOf(form, 'body: {content:')} actions.touch.body.content.whole: ${rule}`,
    ]);
  });

  test('the check finds whole parameters outside of the body and bad cookie names', async () => {
    const query = FILE.replace('spaced: {type: array,', 'spaced: {whole: true, type: array,');
    expect(await faultsOfFile(query)).toEqual([
      `${lineOf(query, 'spaced:')} actions.list_styles.query.spaced.whole: is for a parameter of the body`,
    ]);
    const cookie = FILE.replace('as: page-size', 'as: page;size');
    expect(await faultsOfFile(cookie)).toEqual([
      `${lineOf(cookie, 'page_size')} actions.list_styles.cookies.page_size.as: is no name of a cookie`,
    ]);
  });
});
