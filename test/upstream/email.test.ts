import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/lib/json.ts';
import { buildRequest } from '../../src/upstream/request.ts';
import { callOf } from '../support/upstream.ts';

const ACTION = `request: POST /send
body: {threadId: {type: string, as: message.threadId}}
email: {as: message.raw}
parts:
  from: {type: string}
  to: {type: array, items: {type: string}}
  cc: {type: array, items: {type: string}}
  subject: {type: string}
  text: {type: string}
  html: {type: string}
  inReplyTo: {type: string}
  references: {type: string}
  attachments: {type: array, items: {type: object}}`;

async function messageOf(input: JsonObject): Promise<string> {
  const { body } = await buildRequest(callOf({ action: ACTION }, { input }), 0);
  const { message } = JSON.parse(String(body));
  return Buffer.from(message.raw, 'base64url').toString('utf8');
}
const base64 = (text: string) => Buffer.from(text, 'utf8').toString('base64');

describe('a message', () => {
  test('an email has headers in ASCII and its text in base64', async () => {
    const message = await messageOf({
      to: ['Ada Lovelace <ada@example.com>', 'grace@example.com'],
      cc: ['Zoë <zoe@example.com>'],
      subject: 'Grüße aus Zürich',
      text: 'Hallo\nWelt',
      inReplyTo: '<1@example.com>',
      references: '<0@example.com> <1@example.com>',
    });
    expect(message.split('\r\n')).toEqual([
      'To: "Ada Lovelace" <ada@example.com>,',
      ' grace@example.com',
      `Cc: =?UTF-8?B?${base64('Zoë')}?= <zoe@example.com>`,
      `Subject: =?UTF-8?B?${base64('Grüße aus Zürich')}?=`,
      'In-Reply-To: <1@example.com>',
      'References: <0@example.com>',
      ' <1@example.com>',
      'MIME-Version: 1.0',
      'Content-Type: text/plain; charset=UTF-8',
      'Content-Transfer-Encoding: base64',
      '',
      base64('Hallo\r\nWelt'),
    ]);
  });

  test('an email has text and HTML as alternatives, and files next to them', async () => {
    const message = await messageOf({
      to: ['ada@example.com'],
      subject: 'Report',
      text: 'plain',
      html: '<p>rich</p>',
      attachments: [{ filename: 'Büro.pdf', contentType: 'application/pdf', base64: base64('%PDF') }],
    });
    expect(message).toContain('Content-Type: multipart/mixed; boundary="gatehouse_mixed"');
    expect(message).toContain('Content-Type: multipart/alternative; boundary="gatehouse_alternative"');
    expect(message).toContain("Content-Disposition: attachment; filename*=UTF-8''B%C3%BCro.pdf");
    expect(message).toContain(base64('<p>rich</p>'));
    expect(message.trimEnd().endsWith('--gatehouse_mixed--')).toBe(true);
  });

  test('an email splits long words of a header between characters', async () => {
    const subject = '🚂'.repeat(40);
    const message = await messageOf({ to: ['ada@example.com'], subject, text: '' });
    const words = [...message.matchAll(/=\?UTF-8\?B\?([^?]*)\?=/g)].map(([word, text = '']) => {
      expect(word.length).toBeLessThanOrEqual(75);
      return Buffer.from(text, 'base64').toString('utf8');
    });
    expect(words.join('')).toBe(subject);
  });

  test.each<[string, JsonObject]>([
    ['to', { to: ['ada@example.com\r\nBcc: eve@example.com'] }],
    ['to', { to: ['no address'] }],
    ['to', { to: ['a@example.com>, <b@example.com'] }],
    ['subject', { to: ['ada@example.com'], subject: 'a\nX-Evil: 1' }],
    ['inReplyTo', { to: ['ada@example.com'], inReplyTo: '<a> x' }],
    [
      'attachments.0.contentType',
      { attachments: [{ filename: 'a', contentType: 'a\r\nb', base64: 'AA==' }] },
    ],
    [
      'attachments.0.contentType',
      { attachments: [{ filename: 'a', contentType: 'a; b=c', base64: 'AA==' }] },
    ],
    ['attachments.0.base64', { attachments: [{ filename: 'a', base64: 'not base64!' }] }],
  ])('an email is refused for its %s', async (field, input) => {
    await expect(messageOf(input)).rejects.toMatchObject({
      code: 'invalid_request',
      details: { faults: [{ field }] },
    });
  });
});
