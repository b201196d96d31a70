import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startUpstream, type Upstream } from '../../support/upstream.ts';
import { faultsOfFile, lineOf, startFileApp, type AppAnswer, type FileApp } from '../../support/file-app.ts';

/** An app with exports that take a while, and uploads in two steps. */
const FILE = `baseUrl: '{origin}'
authentication: [{type: bearer}]
errors: {message: [message]}
actions:
  run_report:
    description: Runs a report and returns its rows.
    request: POST /reports
    effect: read
    body: {kind: {type: string, required: true}}
    timeoutSeconds: 120
    after:
      steps:
        job:
          action: get_job
          input: {jobId: '{value.id}'}
          until: {path: state, in: [done], failed: [failed], message: reason}
          everySeconds: 0.1
        rows: {download: job.address, body: json}
      give: '{"kind": input.kind, "rows": rows, "jobId": value.id}'
  run_slow_report:
    description: Runs a report that the app finishes too late.
    request: POST /reports
    effect: read
    timeoutSeconds: 50
    after: {steps: {job: {action: get_job, input: {jobId: '{value.id}'}, until: {path: state, in: [done]}, everySeconds: 60}}}
  download_export:
    description: The file of an export.
    request: POST /exports
    effect: read
    after: {steps: {file: {download: value.address}}}
  create_upload:
    description: Uploads a text in two steps.
    request: POST /uploads
    effect: write
    parts: {text: {type: string, required: true}}
    after:
      steps:
        stored: {action: put_content, input: {uploadId: '{value.id}', text: '{input.text}'}}
        whole: {action: complete_upload, input: {uploadId: '{value.id}'}}
  get_job: {internal: true, description: A job., request: 'GET /jobs/{jobId}', path: {jobId: {type: string}}}
  put_content:
    internal: true
    description: Stores the content.
    request: PUT /uploads/{uploadId}
    bodyType: text
    path: {uploadId: {type: string}}
    body: {text: {type: string}}
  complete_upload:
    internal: true
    description: Completes an upload.
    request: POST /uploads/{uploadId}/complete
    path: {uploadId: {type: string}}
`;
const CANARY = 'token-of-the-tests-canary';

describe('steps that follow a request', () => {
  let app: FileApp;
  let files: Upstream;
  beforeAll(async () => {
    app = await startFileApp(FILE);
    await app.connect({ token: CANARY });
  });
  afterAll(() => app[Symbol.asyncDispose]());
  beforeEach(async () => {
    app.seen.length = 0;
    files = await startUpstream();
  });
  afterEach(() => files[Symbol.asyncDispose]());
  const calls = () => app.seen.map(({ method, path }) => `${method} ${path}`);
  /** Jobs that are in these states, one after the other. */
  const jobs = (...states: string[]) => {
    app.answer = ({ path }): AppAnswer =>
      path === '/reports'
        ? { status: 202, body: { id: 'j1' } }
        : { body: { state: states.shift() ?? 'running', address: `${files.origin}/f`, reason: 'Too big' } };
  };

  test('a job is awaited, and its result downloaded without the credential', async () => {
    const headers: string[] = [];
    files.handler = (req, res) => {
      headers.push(JSON.stringify(req.headers));
      res.writeHead(200, { 'content-type': 'application/json' }).end('[{"id":1},{"id":2}]');
    };
    jobs('queued', 'running', 'done');
    const result = await app.execute('run_report', { kind: 'sales' });
    expect(result.body).toEqual({
      data: { kind: 'sales', rows: [{ id: 1 }, { id: 2 }], jobId: 'j1' },
    });
    expect(calls()).toEqual(['POST /reports', ...Array<string>(3).fill('GET /jobs/j1')]);
    expect(headers).toHaveLength(1);
    expect(headers[0]).not.toContain(CANARY);
  });

  test('an execution names each request to the app, with repetitions', async () => {
    files.handler = (_req, res) =>
      void res.writeHead(200, { 'content-type': 'application/json' }).end('[{"id":1}]');
    const states = [503, 200];
    app.answer = ({ path }): AppAnswer =>
      path === '/reports'
        ? { status: 202, body: { id: 'j1' } }
        : { status: states.shift() ?? 200, body: { state: 'done', address: `${files.origin}/f` } };
    expect((await app.execute('run_report', { kind: 'sales' })).status).toBe(200);
    await app.service.context.executions.flush();
    const list = await app.service.call('GET', '/api/executions?actionId=run_report&limit=1');
    const read = await app.service.call('GET', `/api/executions/${list.text('data.0.executionId')}`);
    const took = { waitMs: expect.any(Number), durationMs: expect.any(Number) };
    expect(read.at('attempts')).toEqual([
      { actionId: 'run_report', status: 202, ...took },
      { actionId: 'get_job', status: 503, ...took },
      { actionId: 'get_job', status: 200, ...took },
    ]);
  });

  test('a job that fails ends the call with the words of the app', async () => {
    jobs('queued', 'failed');
    const failed = await app.execute('run_report', { kind: 'sales' });
    expect([failed.status, failed.at('code'), failed.at('details.reason')]).toEqual([
      502,
      'upstream_failed',
      'job_failed',
    ]);
    expect(failed.text('error')).toContain('Too big');
  });

  test('a job that outlives the time of the action is a timeout', async () => {
    jobs();
    const late = await app.execute('run_slow_report');
    expect([late.status, late.at('code'), late.at('details.reason')]).toEqual([
      504,
      'upstream_timeout',
      'job_running',
    ]);
  });

  test('a file is returned as one, and an address that is none is a fault', async () => {
    files.handler = (_req, res) => res.writeHead(200, { 'content-type': 'text/csv' }).end('a,b\n1,2\n');
    app.answer = () => ({ body: { address: `${files.origin}/x.csv` } });
    expect((await app.execute('download_export')).at('data')).toEqual({
      mediaType: 'text/csv',
      size: 8,
      text: 'a,b\n1,2\n',
    });
    for (const address of [undefined, 'file:///etc/passwd', '/relative', 7]) {
      app.answer = () => ({ body: { address } });
      const refused = await app.execute('download_export');
      expect([refused.status, refused.at('code')]).toEqual([502, 'upstream_failed']);
    }
    // A metadata address is never reached, whatever the operator allows.
    app.answer = () => ({ body: { address: 'http://169.254.169.254/latest/meta-data' } });
    expect((await app.execute('download_export')).status).toBe(502);
  });

  test('an upload takes its steps in order', async () => {
    app.answer = ({ path }) => ({ body: path.endsWith('complete') ? { done: true } : { id: 'u1' } });
    expect((await app.execute('create_upload', { text: 'hello' })).at('data')).toEqual({ done: true });
    expect(calls()).toEqual(['POST /uploads', 'PUT /uploads/u1', 'POST /uploads/u1/complete']);
    expect(app.seen[1]?.body).toBe('hello');
  });

  test.each([401, 422, 429])(
    'a status %i of a step never means that the write did nothing',
    async (status) => {
      app.answer = ({ path }) =>
        path === '/uploads' ? { body: { id: 'u1' } } : { status, body: { message: 'not now' } };
      const failed = await app.execute('create_upload', { text: 'hello' });
      expect([failed.status, failed.at('code'), failed.at('details.step')]).toEqual([
        502,
        'upstream_failed',
        'stored',
      ]);
      expect(failed.text('error')).toContain('accepted the call, and its step stored failed');
      expect(calls().filter((one) => one === 'POST /uploads')).toHaveLength(1);
      expect(await app.state()).toBe('active');
    },
  );
});

describe('a planted fault is found with its line', () => {
  test.each<[from: string, to: string, fault: string]>([
    ['effect: write', 'effect: read', 'must be write, because the step stored is'],
    ['{value.id}', '{answer.id}', '"answer" is none of input, value'],
    ['job.address', 'export.address', '"export" is none of input, value, job'],
    ['action: get_job', 'action: read_job', '"read_job" is no action of this file'],
    ["jobId: '{value.id}'", "id: '{value.id}'", 'lacks jobId'],
    ['"rows": rows', '"rows": (rows', 'is not a valid JSONata expression'],
    ['        rows: {', '        value: {', '"value" already names something else'],
  ])('a planted fault of a step is found with its line: %s', async (from, to, fault) => {
    const file = FILE.replace(from, to);
    const faults = await faultsOfFile(file);
    expect(faults.join('\n')).toContain(fault);
    expect(faults.every((one) => Number(one.split(' ')[0]) >= lineOf(file, 'run_report:'))).toBe(true);
  });
});
