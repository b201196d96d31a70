import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { faultsOfFile, lineOf, startFileApp, type FileApp } from '../../support/file-app.ts';

/** An app that wants epochs, smallest units, Y and N, and documents in place of texts. */
const FILE = `baseUrl: '{origin}'
authentication: [{type: bearer}]
actions:
  list_invoices:
    description: Invoices.
    request: GET /invoices
    query:
      since: {type: string, format: date-time, as: 'created[gte]', encode: epochSeconds}
      days: {type: array, items: {type: string, format: date}, encode: epochMilliseconds, style: comma}
      paid: {type: boolean, encode: {values: {true: Y, false: N}}}
  create_invoice:
    description: Creates an invoice.
    request: POST /invoices
    body:
      amount: {type: string, required: true, encode: {minorUnits: '{currency}', decimals: {ISK: 2}}}
      currency: {type: string, required: true}
      fee: {type: number, encode: {minorUnits: EUR}}
      dueAt: {type: string, format: date-time, as: due.at, encode: epochMilliseconds}
      note: {type: string, encode: {within: {type: doc, content: [{type: text, text: '{value}'}]}}}
      isDraft: {type: boolean, encode: {values: {true: 1, false: 0}}}
  create_price:
    description: Sets a price, in the currency of the shop.
    request: POST /prices
    parts:
      currency: {type: string, required: true}
    body:
      price: {type: string, required: true, encode: {minorUnits: '{currency}'}}
  create_form:
    description: Creates an invoice by a form.
    request: POST /forms
    bodyType: form
    body:
      dueAt: {type: string, format: date, encode: epochSeconds}
  create_order:
    description: Creates an order.
    request: POST /orders
    parts:
      lines: {type: array, required: true, items: {type: object}}
    body:
      customerId: {type: string, required: true, as: customer.id}
    bodyMap: >-
      $merge([body, {"rows": [input.lines.{"sku": sku, "cents": $toMinorUnits(price, "EUR")}]}])
  create_tags:
    description: Creates tags.
    request: POST /tags
    parts: {names: {type: array, required: true, items: {type: string}}}
    bodyMap: '[input.names.{"name": $}]'
  create_task:
    description: Creates a task.
    request: POST /graphql
    effect: write
    graphql: 'mutation($task: Task!) { create(task: $task) { id } }'
    parts: {title: {type: string, required: true}}
    bodyMap: '{"task": {"title": $uppercase(input.title)}}'
  create_nothing:
    description: Fails.
    request: POST /nothing
    parts: {title: {type: string}}
    bodyMap: $number(input.title)
`;

describe('a parameter is sent in the form that the app expects', () => {
  let app: FileApp;
  beforeAll(async () => {
    app = await startFileApp(FILE);
    app.answer = () => ({ body: { data: { id: '1' } } });
    await app.connect({ token: 'token-of-the-tests' });
  });
  afterAll(() => app[Symbol.asyncDispose]());
  beforeEach(() => void (app.seen.length = 0));

  const sent = async (actionId: string, input: object) => {
    const answer = await app.execute(actionId, input);
    expect([answer.status, answer.at('error')]).toEqual([200, undefined]);
    return JSON.parse(app.seen[0]?.body ?? '');
  };

  test('times and booleans of a query are sent in the form of the app', async () => {
    await app.execute('list_invoices', {
      since: '2026-03-01T12:00:00+02:00',
      days: ['1970-01-02', '1970-01-03'],
      paid: false,
    });
    expect(Object.fromEntries(app.seen[0]?.query ?? [])).toEqual({
      'created[gte]': '1772359200',
      days: '86400000,172800000',
      paid: 'N',
    });
  });

  test('an amount in a currency that is not sent becomes minor units', async () => {
    expect(await sent('create_price', { currency: 'JPY', price: '1250' })).toEqual({ price: 1250 });
  });

  test('amounts, times, documents and flags of a body are sent in the form of the app', async () => {
    expect(
      await sent('create_invoice', {
        amount: '12.50',
        currency: 'EUR',
        fee: 0.1,
        dueAt: '1970-01-01T00:00:01.5Z',
        note: 'Thank you, "Ada"',
        isDraft: true,
      }),
    ).toEqual({
      amount: 1250,
      currency: 'EUR',
      fee: 10,
      due: { at: 1500 },
      note: { type: 'doc', content: [{ type: 'text', text: 'Thank you, "Ada"' }] },
      isDraft: 1,
    });
  });

  test.each([
    ['JPY', '1250', 1250],
    ['ISK', '12.5', 1250],
    ['KWD', '-1.234', -1234],
    ['EUR', '0.10', 10],
  ])('an amount in %s is sent in minor units', async (currency, amount, units) => {
    expect(await sent('create_invoice', { amount, currency })).toEqual({ amount: units, currency });
  });

  test.each([
    ['12.505', 'EUR'],
    ['1.5', 'JPY'],
    ['12,50', 'EUR'],
    ['99999999999999999', 'EUR'],
  ])('an amount of %s %s is refused and not sent', async (amount, currency) => {
    const refused = await app.execute('create_invoice', { amount, currency });
    expect([refused.status, refused.at('code')]).toEqual([400, 'invalid_request']);
    expect(refused.text('error')).toContain('amount: must be an amount such as 12.50');
    expect(app.seen).toEqual([]);
  });

  test('a time of a form is sent in the form of the app', async () => {
    await app.execute('create_form', { dueAt: '2026-03-01' });
    expect(app.seen[0]?.body).toBe('dueAt=1772323200');
  });

  test('bodyMap builds nested lists from the input', async () => {
    const lines = [
      { sku: 'a', price: '1.50' },
      { sku: 'b', price: 2 },
    ];
    expect(await sent('create_order', { customerId: 'c1', lines })).toEqual({
      customer: { id: 'c1' },
      rows: [
        { sku: 'a', cents: 150 },
        { sku: 'b', cents: 200 },
      ],
    });
  });

  test('bodyMap may return a list, or the variables of GraphQL', async () => {
    expect(await sent('create_tags', { names: ['a', 'b'] })).toEqual([{ name: 'a' }, { name: 'b' }]);
    app.seen.length = 0;
    expect(await sent('create_task', { title: 'x' })).toMatchObject({ variables: { task: { title: 'X' } } });
  });

  test('an input that bodyMap cannot convert is refused and not sent', async () => {
    const refused = await app.execute('create_nothing', { title: 'x' });
    expect([refused.status, refused.at('code')]).toEqual([400, 'invalid_request']);
    expect(refused.text('error')).toContain("does not fit the connector's mapping");
    expect((await app.execute('create_nothing', { title: '1' })).text('error')).toContain(
      'does not become an object',
    );
    expect(app.seen).toEqual([]);
  });
});

describe('a planted fault is found with its line', () => {
  test.each<[from: string, to: string, fault: string]>([
    [
      "format: date-time, as: 'created",
      "as: 'created",
      'epochSeconds is for a text with format: date-time or date',
    ],
    ["'{currency}'", "'{money}'", '{money} is no parameter of this action'],
    ["minorUnits: '{currency}'", 'minorUnits: euro', 'must be a currency such as EUR, or {parameter}'],
    ['{true: 1, false: 0}', '{true: 1}', 'values lacks false'],
    ["text: '{value}'", 'text: value', "within must name '{value}'"],
    ['input.lines.', 'input.rows.', 'input.rows is no parameter of this action'],
    ['$uppercase(input.title)', '$uppercase(input.title', 'is not a valid JSONata expression'],
  ])('a planted fault of a transform is found with its line: %s', async (from, to, fault) => {
    const file = FILE.replace(from, to);
    const faults = await faultsOfFile(file);
    expect(faults.join('\n')).toContain(fault);
    const near = lineOf(file, to);
    const lines = faults.map((one) => Number(one.split(' ')[0]));
    expect(lines.some((line) => Math.abs(line - near) <= 1)).toBe(true);
  });
});
