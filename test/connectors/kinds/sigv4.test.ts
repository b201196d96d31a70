import { createHash, createHmac } from 'node:crypto';
import { afterEach, expect, test } from 'vitest';
import { faultsOfFile, startFileApp, type Arrived, type FileApp } from '../../support/file-app.ts';

/** A table service and a file store that check AWS signatures. */
const FILE = `baseUrl: '{origin}'
authentication:
  - type: custom
    fields:
      accessKeyId: {title: Access key}
      secretAccessKey: {title: Secret access key, secret: true}
      sessionToken: {title: Session token, secret: true, required: false}
      region: {title: Region, enum: [eu-central-1, us-east-1]}
      service: {title: Service, enum: [s3, dynamodb]}
    sign: {type: aws_sigv4, accessKeyId: '{accessKeyId}', secretAccessKey: '{secretAccessKey}', sessionToken: '{sessionToken}', region: '{region}', service: '{service}'}
probe: list_tables
errors: {message: [message]}
actions:
  list_tables:
    description: Tables.
    request: POST /
    effect: read
    fixed: {headers: {X-Amz-Target: DynamoDB_20120810.ListTables}, body: {Limit: 10}}
  get_file:
    description: A file.
    request: GET /{bucket}/{key}
    path:
      bucket: {type: string, pattern: '^[a-z0-9.-]+$'}
      key: {type: string, slashes: true}
    query: {version: {type: string, as: 'version Id'}}
`;
const SECRET = 'wJalrXUtnFEMI-secret-of-the-tests';

/** Checks a signature from the request as it arrived, as the service does. */
function isSigned({ method, target, headers, body }: Arrived): boolean {
  const [, credential = '', names = '', signature] =
    /Credential=(\S+), SignedHeaders=(\S+), Signature=(\w+)/.exec(headers.authorization ?? '') ?? [];
  const [, ...scope] = credential.split('/');
  const [path = '', query = ''] = target.split('?');
  const sha = (text: string) => createHash('sha256').update(text).digest('hex');
  const canonical = [
    method,
    scope[2] === 's3' ? path : path.split('/').map(encodeURIComponent).join('/'),
    query.split('&').sort().join('&'),
    ...names.split(';').map((name) => `${name}:${String(headers[name])}`),
    '',
    names,
    sha(body),
  ].join('\n');
  const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();
  const key = scope.reduce<string | Buffer>(hmac, `AWS4${SECRET}`);
  const text = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope.join('/'), sha(canonical)].join('\n');
  return hmac(key, text).toString('hex') === signature;
}

let app: FileApp | undefined;
afterEach(() => app?.[Symbol.asyncDispose]());

async function start(): Promise<FileApp> {
  app = await startFileApp(FILE);
  app.answer = (request) =>
    isSigned(request)
      ? { body: { at: request.target } }
      : { status: 403, body: { message: 'The signature does not match' } };
  return app;
}
const KEYS = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: SECRET, region: 'eu-central-1' };

test('requests are signed, with the body and the token of temporary keys', async () => {
  const { connect, execute, seen } = await start();
  expect((await connect({ ...KEYS, service: 'dynamodb', sessionToken: 'temporary-token' })).status).toBe(201);
  expect((await execute('list_tables')).status).toBe(200);
  expect(seen.at(-1)?.headers).toMatchObject({
    'x-amz-security-token': 'temporary-token',
    'x-amz-target': 'DynamoDB_20120810.ListTables',
  });
  expect(seen.at(-1)?.headers.authorization).toContain('/eu-central-1/dynamodb/aws4_request');
});

test.each(['s3', 'dynamodb'])('any name of a file is signed for %s', async (service) => {
  const { connect, execute, seen } = await start();
  await connect({ ...KEYS, service });
  for (const key of ['a.txt', 'year 2026/März/100%+(1)*.txt', "o'neil/~x"]) {
    const answer = await execute('get_file', { bucket: 'files', key, version: 'a b&c=d/é' });
    expect([key, answer.status]).toEqual([key, 200]);
    const path = decodeURIComponent(seen.at(-1)?.path ?? '');
    expect(path).toBe(`/files/${key}`);
  }
});

test('a name of a file cannot leave its place in the path', async () => {
  const { connect, execute, seen } = await start();
  await connect({ ...KEYS, service: 's3' });
  const before = seen.length;
  for (const key of ['../other/a.txt', 'a//b', 'a/./b', '/a', 'a/', 'a\\..\\b']) {
    const refused = await execute('get_file', { bucket: 'files', key });
    expect([key, refused.status, refused.at('code')]).toEqual([key, 400, 'invalid_request']);
  }
  expect(seen.length).toBe(before);
});

test('a wrong secret is refused when it is connected', async () => {
  const { connect } = await start();
  const refused = await connect({ ...KEYS, secretAccessKey: 'wrong', service: 'dynamodb' });
  expect(refused.at('code')).toBe('credential_invalid');
});

test('check refuses keys that are no fields, and slashes outside of the path', async () => {
  expect((await faultsOfFile(FILE.replace("'{secretAccessKey}'", "'{secret}'"))).join()).toContain(
    'sign.secretAccessKey: {secret} is no field',
  );
  expect((await faultsOfFile(FILE.replace("as: 'version Id'", 'slashes: true'))).join()).toContain(
    'query.version.slashes: is for a text of the path',
  );
});
