import { Readable } from 'node:stream';
import { z } from 'zod';
import type { Context } from '../context.ts';
import { deleteFile } from '../../files/delete-files.ts';
import { MAX_FILE_BYTES } from '../../files/file-limits.ts';
import { contentOf, requireFile, type FileOwner, type StoredFile } from '../../files/stored-file.ts';
import { storeFile } from '../../files/store-file.ts';
import type { Caller } from '../../identity/caller.ts';
import { userOfRequest } from '../../identity/visit.ts';
import { isoTime } from '../../lib/clock.ts';
import { GatehouseError, invalidRequest } from '../../lib/errors.ts';
import { defineRoute } from '../server/route.ts';
import { label } from '../../lib/label.ts';
import { deleted, time } from '../server/shapes.ts';

/** RFC 9110 section 8.3.1, without comments. */
const MEDIA_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?:\s*;\s*[\w-]+=(?:"[^"\r\n]*"|[\w.+-]+))*$/;
const DEFAULT_TYPE = 'application/octet-stream';
const FORM_TYPE = 'application/x-www-form-urlencoded';

const userId = z.string().min(1).max(64).optional().meta({
  description: 'The user of the file. Required with an API key, unless x-svc-userid names the user.',
});
const ofFiles = { tag: 'Files', auth: 'api_key_or_jwt', apiVersion: true, user: 'existing' } as const;
const params = z.strictObject({ fileId: z.string() });

export const uploadFileRoute = defineRoute({
  ...ofFiles,
  method: 'POST',
  path: '/files',
  operationId: 'uploadFile',
  summary: 'Upload a file',
  description:
    'Stores the body as a file of the user for 24 hours, encrypted. Its Content-Type becomes the media type. ' +
    'Actions take the file as `{fileId}` where their input has the format `binary`. A user may have 1,000 files at a ' +
    'time, of 1 GiB together, unless the operator sets other limits.',
  scope: 'files:write',
  query: z.strictObject({
    userId,
    name: label(255).optional().meta({ description: 'Name of the file, for apps that show one.' }),
  }),
  rawBody: {
    maxBytes: MAX_FILE_BYTES,
    description: 'The content, at most 100 MiB.',
    example: 'order;total\n1042;19.90\n',
  },
  success: {
    status: 201,
    description: 'The file.',
    schema: z
      .object({
        fileId: z.string(),
        size: z.number(),
        sha256: z.string(),
        mediaType: z.string(),
        name: z.string().optional(),
        expiresAt: time,
      })
      .meta({ id: 'File', description: 'A file of an end user.' }),
  },
  errors: ['payload_too_large', 'unsupported_media_type', 'limit_reached', 'unavailable'],
  audited: true,
  async handler({ context, caller, query, userId: subject, header, streamRaw }) {
    const owner = await ownerOf(context, caller, { named: query.userId, subject });
    const sent = header('content-type')?.trim();
    // curl sends this type by default.
    const mediaType = sent === undefined || sent === FORM_TYPE ? DEFAULT_TYPE : sent;
    if (mediaType.length > 200 || !MEDIA_TYPE.test(mediaType))
      throw invalidRequest(
        [{ field: 'content-type', rule: 'must be a media type, such as image/png' }],
        'A header',
      );
    const file = await storeFile(context, owner, {
      content: streamRaw(),
      mediaType,
      name: query.name,
      announced: announcedBy(header),
    });
    const stored = view(file);
    return { body: stored, auditTarget: stored.fileId };
  },
});

export const getFileRoute = defineRoute({
  ...ofFiles,
  method: 'GET',
  path: '/files/{fileId}',
  operationId: 'getFile',
  summary: 'Download a file',
  description: 'Returns the content of a file, with its own Content-Type.',
  scope: 'files:read',
  params,
  query: z.strictObject({ userId }),
  success: {
    status: 200,
    description: 'The content.',
    schema: z.string(),
    contentType: '*/*',
    example: 'order;total\n1042;19.90\n',
  },
  errors: ['file_not_found'],
  async handler({ context, caller, params: { fileId }, query, userId: subject }) {
    const owner = await ownerOf(context, caller, { named: query.userId, subject });
    const file = await requireFile(context, owner, fileId);
    return { body: Readable.from(contentOf(context, file)), headers: headersOf(file) };
  },
});

export const deleteFileRoute = defineRoute({
  ...ofFiles,
  method: 'DELETE',
  path: '/files/{fileId}',
  operationId: 'deleteFile',
  summary: 'Delete a file',
  scope: 'files:write',
  params,
  query: z.strictObject({ userId }),
  success: deleted('fileId', 'The file is deleted.'),
  errors: ['file_not_found'],
  audited: true,
  async handler({ context, caller, params: { fileId }, query, userId: subject }) {
    const owner = await ownerOf(context, caller, { named: query.userId, subject });
    await requireFile(context, owner, fileId);
    await deleteFile(context.db, fileId);
    return { body: { message: 'The file was deleted.', fileId } };
  },
});

/**
 * Returns the user of a request: the subject of the JWT, the parameter userId, or x-svc-userid (`subject`).
 * @throws GatehouseError `invalid_request` without one, `forbidden` when two differ, `user_not_found`.
 */
async function ownerOf(
  context: Context,
  caller: Caller,
  { named, subject }: { named: string | undefined; subject: string | undefined },
): Promise<FileOwner> {
  const { environment } = caller;
  if (named !== undefined && subject !== undefined && named !== subject)
    throw new GatehouseError('forbidden', 'The parameter userId names another user than the request.');
  const userId = subject ?? (await userOfRequest(context, environment, { callers: [caller], named }));
  if (userId === undefined) {
    throw invalidRequest([{ field: 'userId', rule: 'is required with an API key' }], 'The query');
  }
  return { environment, userId };
}

function announcedBy(header: (name: string) => string | undefined): number | undefined {
  const length = header('content-length');
  if (header('content-encoding') !== undefined) return undefined;
  if (length !== undefined) return Number(length);
  return header('transfer-encoding') === undefined ? 0 : undefined;
}

/**
 * Returns the headers of a content. Browsers do not show it in place, because a user's page could run there under our
 * origin.
 */
function headersOf({ mediaType, size, name, sha256 }: StoredFile): Record<string, string> {
  const named = name === undefined ? '' : `; filename*=UTF-8''${encodeURIComponent(name.toWellFormed())}`;
  return {
    'Content-Type': mediaType,
    'Content-Length': String(size),
    'Content-Disposition': `attachment${named}`,
    'Content-Security-Policy': 'sandbox',
    'Repr-Digest': `sha-256=:${Buffer.from(sha256, 'hex').toString('base64')}:`,
  };
}

function view({ fileId, size, sha256, mediaType, name, expiresAt }: StoredFile) {
  return {
    fileId,
    size,
    sha256,
    mediaType,
    ...(name === undefined ? {} : { name }),
    expiresAt: isoTime(expiresAt),
  };
}
