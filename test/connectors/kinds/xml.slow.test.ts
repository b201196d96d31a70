import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { faultsOfFile, lineOf, startFileApp, type AppAnswer, type FileApp } from '../../support/file-app.ts';

/** An app of SOAP 1.1 with the password in the envelope, and a feed in XML. */
const FILE = `baseUrl: '{origin}'
bodyType: xml
authentication:
  - type: custom
    fields: {user: {title: User}, pass: {title: Password, secret: true}}
    apply: {body: {user: '{user}', pass: '{pass}'}}
errors:
  message: [Envelope.Body.Fault.faultstring]
  code: Envelope.Body.Fault.faultcode
  codes: {'soap:Client.Authentication': credential_invalid}
  rules: [{means: upstream_rejected, status: 500, body: {path: Envelope.Body.Fault.faultcode, equals: 'soap:Client'}}]
  when: [{path: Envelope.Body.Fault}]
paging:
  pages: {style: page, in: body, pageParam: page, limitParam: size, maxLimit: 2, total: 'body:Envelope.Body.ListResponse.@total'}
  none: {style: none}
actions:
  create_order:
    description: Creates an order.
    request: POST /soap
    fixed: {headers: {SOAPAction: '"urn:shop#Create"'}}
    body:
      number: {type: string, required: true, as: order.number}
      note: {type: string}
      tags: {type: array, items: {type: string}}
      lines: {type: array, items: {type: object}}
      amount: {type: string, encode: {minorUnits: EUR}}
    xml: |
      <s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/" xmlns:o="urn:shop">
        <s:Header><o:Auth user="{user}"><o:Password>{pass}</o:Password></o:Auth></s:Header>
        <s:Body><o:Create note="{note}"><o:Number>{order.number}</o:Number><o:Tag>{tags}</o:Tag><o:Line>{lines}</o:Line><o:Cents unit="cent">{amount}</o:Cents></o:Create></s:Body>
      </s:Envelope>
    response: {data: Envelope.Body.CreateResponse, lists: [warning]}
  list_orders:
    description: Orders.
    request: POST /list
    effect: read
    paging: pages
    xml: <Envelope><Body><List><Page>{page}</Page><Size>{size}</Size></List></Body></Envelope>
    response: {data: Envelope.Body.ListResponse.orders.order}
  list_news:
    description: News.
    request: GET /feed
    paging: none
    response: {data: rss.channel.item, map: '{"title": title, "id": guid."#text"}'}
`;

const envelope = (body: string) =>
  `<?xml version="1.0"?><soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/"><soap:Body>${body}</soap:Body></soap:Envelope>`;
const xml = (body: string, status = 200): AppAnswer => ({
  status,
  headers: { 'content-type': 'text/xml; charset=utf-8' },
  body,
});

let app: FileApp;
beforeEach(async () => {
  app = await startFileApp(FILE);
  await app.connect({ user: 'ada', pass: 'p<ss&"word' });
});
afterEach(() => app[Symbol.asyncDispose]());
const create = (input: object = {}) => app.execute('create_order', { number: '7', ...input });

test('an envelope is filled, escaped, and completed by authentication', async () => {
  app.answer = () =>
    xml(
      envelope(
        '<r:CreateResponse xmlns:r="urn:shop" xmlns:i="http://www.w3.org/2001/XMLSchema-instance"><r:id kind="own">42</r:id><r:warning>late</r:warning><r:note i:nil="true"/><r:empty/></r:CreateResponse>',
      ),
    );
  const made = await create({
    note: 'a "b" <c> & d',
    tags: ['x', 'y</o:Tag><o:Admin/>'],
    lines: [{ Sku: 'a', Qty: 2, Parts: { Part: ['p', 'q'] } }],
    amount: '12.50',
  });
  expect(made.body).toMatchObject({
    data: { id: { '@kind': 'own', '#text': '42' }, warning: ['late'], note: null, empty: '' },
  });
  const [{ body, headers } = { body: '', headers: {} }] = app.seen;
  expect(headers).toMatchObject({
    soapaction: '"urn:shop#Create"',
    'content-type': 'text/xml; charset=utf-8',
    accept: 'text/xml, application/xml',
  });
  expect(body).toContain('<o:Auth user="ada"><o:Password>p&lt;ss&amp;&quot;word</o:Password></o:Auth>');
  expect(body).toContain(
    '<o:Create note="a &quot;b&quot; &lt;c&gt; &amp; d"><o:Number>7</o:Number><o:Tag>x</o:Tag>' +
      '<o:Tag>y&lt;/o:Tag&gt;&lt;o:Admin/&gt;</o:Tag><o:Line><o:Sku>a</o:Sku><o:Qty>2</o:Qty>' +
      '<o:Parts><o:Part>p</o:Part><o:Part>q</o:Part></o:Parts></o:Line><o:Cents unit="cent">1250</o:Cents></o:Create>',
  );
});

test('elements and attributes without a value are left out', async () => {
  app.answer = () => xml(envelope('<CreateResponse/>'));
  await create();
  expect(app.seen[0]?.body).toContain('<o:Create><o:Number>7</o:Number></o:Create>');
});

test('names and characters that XML does not have are refused and not sent', async () => {
  for (const input of [{ note: 'a\u0000b' }, { lines: [{ 'a><b': 1 }] }]) {
    const refused = await create(input);
    expect([refused.status, refused.at('code')]).toEqual([400, 'invalid_request']);
  }
  expect(app.seen).toEqual([]);
});

test('SOAP faults have their meaning, whatever their status', async () => {
  const fault = (code: string, text: string) =>
    envelope(`<soap:Fault><faultcode>${code}</faultcode><faultstring>${text}</faultstring></soap:Fault>`);
  app.answer = () => xml(fault('soap:Client', 'No such customer'), 500);
  const refused = await create();
  expect([refused.status, refused.at('code')]).toEqual([422, 'upstream_rejected']);
  expect(refused.at('details.message')).toBe('No such customer');
  app.answer = () => xml(fault('soap:Client', 'Not so'));
  expect((await create()).at('code')).toBe('upstream_rejected');
  app.answer = () => xml(fault('soap:Server', 'Down'), 500);
  expect((await create()).at('code')).toBe('upstream_failed');
  app.answer = () => xml(fault('soap:Client.Authentication', 'Bad password'));
  expect((await app.execute('list_orders')).at('code')).toBe('credential_invalid');
});

test('a list of one, of none and of several is paged', async () => {
  app.answer = ({ body }) => {
    const page = Number(/<Page>(\d+)</.exec(body)?.[1]);
    const size = Number(/<Size>(\d+)</.exec(body)?.[1]);
    const all = ['1', '2', '3'].slice((page - 1) * size, page * size);
    const orders = all.map((id) => `<order><id>${id}</id></order>`).join('');
    return xml(envelope(`<ListResponse total="3"><orders>${orders}</orders></ListResponse>`));
  };
  expect((await app.execute('list_orders', { limit: 2 })).body).toEqual({
    data: [{ id: '1' }, { id: '2' }],
    pagination: { hasMore: true, nextOffset: 2 },
  });
  expect((await app.execute('list_orders', { limit: 2, offset: 2 })).at('data')).toEqual([{ id: '3' }]);
  app.answer = () => xml(envelope('<ListResponse total="0"><orders/></ListResponse>'));
  expect((await app.execute('list_orders')).at('data')).toEqual([]);
});

test('a feed is read in its own encoding', async () => {
  app.answer = () => ({
    headers: { 'content-type': 'application/rss+xml' },
    body: Buffer.from(
      '<?xml version="1.0" encoding="ISO-8859-1"?><rss><channel><item><guid isPermaLink="false">g1</guid><title><![CDATA[Grüße & <b>]]></title></item></channel></rss>',
      'latin1',
    ),
  });
  expect((await app.execute('list_news')).at('data')).toEqual([{ title: 'Grüße & <b>', id: 'g1' }]);
});

test('a secret that an answer repeats with entities reaches no caller', async () => {
  app.answer = () => xml(envelope('<CreateResponse><echo>p&lt;ss&amp;&#34;word</echo></CreateResponse>'));
  expect(JSON.stringify((await create()).body)).not.toContain('word');
});

describe('hostile documents are a fault of the app', () => {
  test.each<[string, string]>([
    [
      'entities that expand',
      '<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;">]><Envelope>&b;</Envelope>',
    ],
    ['an external entity', '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><Envelope>&x;</Envelope>'],
    ['an unknown entity', '<Envelope>&nbsp;</Envelope>'],
    ['deep nesting', '<a>'.repeat(5000) + '</a>'.repeat(5000)],
    ['too many elements', `<a>${'<b/>'.repeat(300_000)}</a>`],
    ['an open element', '<Envelope><Body>'],
    ['two roots', '<a/><b/>'],
    ['text that is no XML', 'hello'],
  ])('a hostile document is a fault of the app: %s', async (_what, body) => {
    app.answer = () => xml(body);
    const failed = await create();
    expect([failed.status, failed.at('code')]).toEqual([502, 'upstream_failed']);
    expect(failed.text('error')).toContain('XML that cannot be read');
  });
});

describe('a planted fault is found with its line', () => {
  test.each<[from: string, to: string, fault: string]>([
    ['{order.number}', '{order.id}', '{order.id} is no member of the body'],
    ['</o:Create>', '</o:Created>', 'is no XML'],
    [' note="{note}"', '', 'is not sent: {note} is nowhere in xml'],
    ['    xml: <Envelope>', '    graphql: <Envelope>', 'needs the document `xml`'],
    ['bodyType: xml', 'bodyType: json', 'is for answers in XML'],
  ])('a planted fault of XML is found with its line: %s', async (from, to, fault) => {
    const file = FILE.replace(from, to);
    const faults = await faultsOfFile(file);
    expect(faults.join('\n')).toContain(fault);
    expect(faults.every((one) => Number(one.split(' ')[0]) >= lineOf(file, 'actions:'))).toBe(true);
  });
});
