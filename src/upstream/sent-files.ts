import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { filesOf } from '../connectors/file-values.ts';
import { mediaType } from '../connectors/format/format-parts.ts';
import type { Parameter } from '../connectors/format/format.ts';
import { GatehouseError, invalidRequest } from '../lib/errors.ts';
import { hasControls } from '../lib/hidden-characters.ts';
import type { Json, JsonObject } from '../lib/json.ts';
import type { SentBody, StreamedBody } from '../outbound/outbound-dispatch.ts';
import type { SentFile } from './file-store.ts';
import type { UpstreamCall } from './upstream-call.ts';

/*
 * Files of the input. While the body is written, a random text takes the place of each file. When the body is sent, the
 * content of the file, which is read at that time, replaces the text.
 */

/** The most bytes of a file in the input itself. */
const MAX_INLINE_BYTES = 256 * 1024;
const DEFAULT_TYPE = 'application/octet-stream';

const given = z
  .strictObject({
    fileId: z.string().optional(),
    base64: z.string().optional(),
    name: z
      .string()
      .min(1)
      .max(255)
      .refine((text) => !hasControls(text), 'must not hold control characters')
      .optional(),
    mediaType: mediaType.optional(),
  })
  .refine(
    ({ fileId, base64 }) => (fileId === undefined) !== (base64 === undefined),
    'must have exactly one of fileId and base64',
  );

/**
 * Returns the call with a text in place of each file of its input.
 * @throws GatehouseError `file_not_found`, `payload_too_large` for more than 256 KiB of base64, `invalid_request`
 */
export async function withSentFiles(call: UpstreamCall): Promise<UpstreamCall> {
  const files = filesOf(call.action.definition).filter(({ name }) => (call.input[name] ?? null) !== null);
  if (files.length === 0) return call;
  const sentFiles = new Map<string, SentFile>();
  const input: JsonObject = { ...call.input };
  const placed = async (field: string, value: Json, parameter: Parameter): Promise<string> => {
    const text = `gatehouse-file-${randomBytes(16).toString('hex')}`;
    sentFiles.set(text, await openFile(call, { field, value, parameter }));
    return text;
  };
  for (const { name, parameter } of files) {
    const value = input[name] ?? null;
    if (!Array.isArray(value)) input[name] = await placed(`input.${name}`, value, parameter);
    else {
      const texts: string[] = [];
      for (const [at, one] of value.entries())
        texts.push(await placed(`input.${name}.${at}`, one, parameter));
      input[name] = texts;
    }
  }
  return { ...call, input, sentFiles };
}

/** Returns the size, name and media type of each file of the input, by parameter. It leaves out lists of files. */
export async function filesIn(call: UpstreamCall): Promise<JsonObject> {
  const facts: JsonObject = {};
  for (const { name, parameter } of filesOf(call.action.definition)) {
    const value = call.input[name] ?? null;
    if (value === null || Array.isArray(value)) continue;
    const file = await openFile(call, { field: `input.${name}`, value, parameter });
    facts[name] = { size: file.size, name: file.name ?? 'file', mediaType: file.mediaType };
  }
  return facts;
}

/** Returns the file that an input names or holds. @throws as withSentFiles() */
export async function openFile(
  { files }: Pick<UpstreamCall, 'files'>,
  { field, value, parameter }: { field: string; value: Json; parameter: Parameter },
): Promise<SentFile> {
  const parsed = given.safeParse(value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw invalidRequest([{ field: [field, ...(issue?.path ?? [])].join('.'), rule: issue?.message ?? '' }]);
  }
  const { fileId, base64 = '', name, mediaType: type } = parsed.data;
  if (fileId !== undefined && !files) {
    throw invalidRequest([{ field, rule: 'is a file of a user, and this call has no user' }]);
  }
  const file = fileId === undefined ? inlineFile(field, base64) : await files?.open(fileId);
  if (!file) throw new Error('no file store');
  const { contentType, filename } = parameter;
  return {
    ...file,
    mediaType: type ?? contentType ?? file.mediaType,
    name: name ?? file.name ?? filename,
  };
}

function inlineFile(field: string, base64: string): SentFile {
  const text = base64.replaceAll(/\s/g, '');
  if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(text))
    throw invalidRequest([{ field: `${field}.base64`, rule: 'must be the content in base64' }]);
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length > MAX_INLINE_BYTES) {
    throw new GatehouseError(
      'payload_too_large',
      `${field}.base64 holds more than 256 KiB. Upload the file with POST /files, and give its fileId.`,
    );
  }
  return {
    size: bytes.length,
    mediaType: DEFAULT_TYPE,
    name: undefined,
    async *content({ from, to } = { from: 0, to: bytes.length }) {
      yield bytes.subarray(from, to);
    },
  };
}

/**
 * Returns a body with the contents of the files in place of their texts. The contents are bytes where `holdsBytes` is set,
 * else base64.
 */
export function withContents(
  written: string | Uint8Array,
  {
    sentFiles = new Map(),
    holdsBytes = false,
  }: { sentFiles?: UpstreamCall['sentFiles']; holdsBytes?: boolean | undefined },
): SentBody {
  const parts = splitAt(Buffer.from(written), sentFiles);
  if (parts.every((part) => Buffer.isBuffer(part))) return written;
  const sent = parts.map((part): Buffer | StreamedBody =>
    Buffer.isBuffer(part) || holdsBytes ? part : inBase64(part),
  );
  return {
    size: sent.reduce((sum, part) => sum + (Buffer.isBuffer(part) ? part.length : part.size), 0),
    async *content() {
      for (const part of sent) {
        if (Buffer.isBuffer(part)) yield part;
        else yield* part.content();
      }
    },
  };
}

function splitAt(bytes: Buffer, sentFiles: ReadonlyMap<string, SentFile>): (Buffer | SentFile)[] {
  for (const [text, file] of sentFiles) {
    const at = bytes.indexOf(text);
    if (at < 0) continue;
    return [
      ...splitAt(bytes.subarray(0, at), sentFiles),
      file,
      ...splitAt(bytes.subarray(at + text.length), sentFiles),
    ];
  }
  return bytes.length > 0 ? [bytes] : [];
}

function inBase64({ size, content }: StreamedBody): StreamedBody {
  return {
    size: 4 * Math.ceil(size / 3),
    async *content() {
      let rest: Uint8Array = new Uint8Array();
      for await (const chunk of content()) {
        const bytes = Buffer.concat([rest, chunk]);
        const whole = bytes.length - (bytes.length % 3);
        rest = bytes.subarray(whole);
        if (whole > 0) yield Buffer.from(bytes.toString('base64', 0, whole));
      }
      if (rest.length > 0) yield Buffer.from(Buffer.from(rest).toString('base64'));
    },
  };
}

/**
 * Returns a whole body, for signatures that hash it.
 * @throws GatehouseError `payload_too_large` beyond `maxBytes`
 */
export async function wholeBody({ size, content }: StreamedBody, maxBytes: number): Promise<Buffer> {
  if (size > maxBytes) {
    throw new GatehouseError(
      'payload_too_large',
      `This app requires a signature of the whole body, so the body may have at most ${maxBytes / 1024 / 1024} MiB.`,
    );
  }
  const chunks: Uint8Array[] = [];
  for await (const chunk of content()) chunks.push(chunk);
  return Buffer.concat(chunks);
}
