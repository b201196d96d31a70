import { asObject, type Json, type JsonObject } from '../lib/json.ts';
import { inputFault } from './request-draft.ts';
import { percentEncoded } from './values.ts';

/* E-mail messages by RFC 5322 and MIME (RFC 2045), for apps that take whole messages. */

const CRLF = '\r\n';
// eslint-disable-next-line no-control-regex -- this pattern finds control characters
const CONTROL = /[\u0000-\u001f\u007f]/;
const ASCII = /^[\u0020-\u007e]*$/;
const ADDRESS = /^(?:"?(?<name>[^"<>]*?)"?\s*<(?<inBrackets>[^<>]*)>|(?<bare>[^<>]*))$/;
const MAILBOX = /^[!#-'*+\-./0-9=?A-Z^_`a-z{|}~]{1,64}@[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/i;
/** Bytes of one encoded word. With its frame it stays below the 75 characters of RFC 2047 section 2. */
const WORD_BYTES = 42;
/** RFC 5322 section 2.1.1 allows 998 characters a line. */
const MAX_LINE = 900;

/**
 * Returns the message of the given parts, with lines ended by CRLF. Content is always base64, so no text can look like
 * a header or a boundary.
 * @throws GatehouseError `invalid_request` naming the part, for values that no header can carry.
 */
export function emailOf(parts: JsonObject): string {
  const headers = [
    addressHeader('From', 'from', parts),
    addressHeader('To', 'to', parts),
    addressHeader('Cc', 'cc', parts),
    addressHeader('Bcc', 'bcc', parts),
    addressHeader('Reply-To', 'replyTo', parts),
    textHeader('Subject', 'subject', parts),
    idHeader('In-Reply-To', 'inReplyTo', parts),
    idHeader('References', 'references', parts),
    ['MIME-Version: 1.0'],
  ].flat();
  return [...headers, contentOf(parts)].join(CRLF);
}

/** Returns the addresses of a header, each with its name: a comma within quotes is part of a name. */
export function addressesIn(header: string | undefined): string[] {
  const found = header?.match(/(?:"(?:\\.|[^"\\])*"|[^",])+/g) ?? [];
  return found.map((one) => one.trim()).filter((one) => one.includes('@'));
}

function contentOf(parts: JsonObject): string {
  const { text, html, attachments } = parts;
  const bodies = [
    ...(typeof text === 'string' || typeof html !== 'string' ? [textPart('plain', text)] : []),
    ...(typeof html === 'string' ? [textPart('html', html)] : []),
  ];
  const body = bodies.length === 1 ? (bodies[0] ?? '') : multipart('alternative', bodies);
  const files = Array.isArray(attachments) ? attachments.map(filePart) : [];
  return files.length === 0 ? body : multipart('mixed', [body, ...files]);
}

function textPart(kind: 'plain' | 'html', content: Json | undefined): string {
  const text = (typeof content === 'string' ? content : '').replaceAll(/\r?\n/g, CRLF);
  return part([`Content-Type: text/${kind}; charset=UTF-8`], Buffer.from(text, 'utf8').toString('base64'));
}

function filePart(file: Json, index: number): string {
  const { filename, contentType, base64 } = asObject(file);
  const name = plainText(`attachments.${index}.filename`, filename);
  const type = plainText(`attachments.${index}.contentType`, contentType ?? 'application/octet-stream');
  if (!/^[\w.+-]+\/[\w.+-]+$/.test(type))
    throw inputFault(`attachments.${index}.contentType`, 'must be a media type, such as application/pdf');
  const content = typeof base64 === 'string' ? base64.replaceAll(/\s/g, '') : '';
  if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(content))
    throw inputFault(`attachments.${index}.base64`, 'must be the content in base64');
  // RFC 2231 allows a name of any characters.
  const encoded = percentEncoded(name);
  return part(
    [`Content-Type: ${type}`, `Content-Disposition: attachment; filename*=UTF-8''${encoded}`],
    Buffer.from(content, 'base64').toString('base64'),
  );
}

function part(headers: string[], base64: string): string {
  const lines = base64.match(/.{1,76}/g) ?? [];
  return [...headers, 'Content-Transfer-Encoding: base64', '', ...lines].join(CRLF);
}

/** Returns a multipart body. Base64 has no underscore, so no part can hold the boundary. */
function multipart(kind: 'alternative' | 'mixed', parts: string[]): string {
  const boundary = `gatehouse_${kind}`;
  const head = `Content-Type: multipart/${kind}; boundary="${boundary}"${CRLF}`;
  return [head, ...parts.map((one) => `--${boundary}${CRLF}${one}`), `--${boundary}--`].join(CRLF);
}

function textHeader(header: string, name: string, parts: JsonObject): string[] {
  const value = parts[name];
  return value === undefined ? [] : [`${header}: ${phrase(plainText(name, value))}`];
}

function addressHeader(header: string, name: string, parts: JsonObject): string[] {
  const value = parts[name];
  const given = value === undefined ? [] : Array.isArray(value) ? value : [value];
  return given.length === 0 ? [] : [`${header}: ${given.map((one) => address(name, one)).join(`,${CRLF} `)}`];
}

/** Returns `Ada <ada@example.com>` or the address alone. */
function address(field: string, value: Json): string {
  const found = ADDRESS.exec(plainText(field, value).trim())?.groups;
  const mailbox = (found?.['inBrackets'] ?? found?.['bare'] ?? '').trim();
  if (!MAILBOX.test(mailbox))
    throw inputFault(field, 'must be an e-mail address, or a name with one: Ada <ada@example.com>');
  const name = found?.['name']?.trim() ?? '';
  if (name === '') return mailbox;
  return `${ASCII.test(name) ? `"${name.replaceAll('\\', '\\\\')}"` : phrase(name)} <${mailbox}>`;
}

/** Returns the header of message ids: `<a@b> <c@d>`. */
function idHeader(header: string, name: string, parts: JsonObject): string[] {
  const value = parts[name];
  if (value === undefined) return [];
  const ids = plainText(name, value).trim().split(/\s+/);
  if (!ids.every((id) => /^<[\u0021-\u003b\u003d\u003f-\u007e]{1,800}>$/.test(id)))
    throw inputFault(name, 'must be message ids in angle brackets: <id@example.com>');
  return [`${header}: ${ids.join(`${CRLF} `)}`];
}

/** Returns the text of a header: unchanged, or in encoded words (RFC 2047), which never split a character. */
function phrase(text: string): string {
  if (ASCII.test(text) && text.length <= MAX_LINE) return text;
  const words: string[] = [''];
  for (const sign of text.toWellFormed()) {
    const last = words.at(-1) ?? '';
    if (Buffer.byteLength(last + sign) > WORD_BYTES) words.push(sign);
    else words[words.length - 1] = last + sign;
  }
  return words.map((word) => `=?UTF-8?B?${Buffer.from(word, 'utf8').toString('base64')}?=`).join(`${CRLF} `);
}

function plainText(field: string, value: Json | undefined): string {
  if (typeof value === 'string' && value !== '' && !CONTROL.test(value)) return value;
  throw inputFault(field, 'must be a text without line breaks and control characters');
}
