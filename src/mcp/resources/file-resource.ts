import { deleteFile } from '../../files/delete-files.ts';
import { contentOf, readChunk, requireFile } from '../../files/stored-file.ts';
import { GatehouseError } from '../../lib/errors.ts';
import { MIB } from '../../lib/http/http-body.ts';
import { tooLarge } from '../../outbound/outbound-body.ts';
import type { ToolScope } from '../scope/tool.ts';
import { THIRD_PARTY } from '../answers/third-party.ts';

/** The template of resources/templates/list. */
export const FILE_TEMPLATE = {
  uriTemplate: 'svc://files/{fileId}{?page}',
  name: 'file',
  title: 'A file',
  description: 'A page of a file of the user, 256 KiB in base64, from page 1 on.',
};

/** Returns the file and page of an address; undefined for other addresses. */
export function fileAddress(uri: string): { fileId: string; page: number } | undefined {
  const [, fileId, page = '1'] =
    /^svc:\/\/files\/(file_[0-9A-Za-z]{22})(?:\?page=(\d{1,4}))?$/.exec(uri) ?? [];
  return fileId === undefined ? undefined : { fileId, page: Number(page) };
}

/**
 * Returns a page of a file of the grant's user; undefined where the user has no such file or page. Pages are the chunks
 * of the store, so reading one loads no more than it shows.
 */
export async function readFilePage(
  { context, grant }: Pick<ToolScope, 'context' | 'grant'>,
  uri: string,
  { fileId, page }: { fileId: string; page: number },
) {
  const { environment, userId } = grant;
  if (userId === undefined) return undefined;
  try {
    const file = await requireFile(context, { environment, userId }, fileId);
    const pages = Math.max(1, file.chunks);
    if (page < 1 || page > pages) return undefined;
    const bytes = file.chunks === 0 ? Buffer.alloc(0) : await readChunk(context, file, page);
    return {
      uri,
      mimeType: file.mediaType,
      blob: bytes.toString('base64'),
      _meta: {
        'gatehouse/page': page,
        'gatehouse/pages': pages,
        'gatehouse/size': file.size,
        ...THIRD_PARTY,
      },
    };
  } catch (error) {
    if (error instanceof GatehouseError && error.code === 'file_not_found') return undefined;
    throw error;
  }
}

/** The largest file of an app that a resource shows whole, because clients get it in one message. */
const MAX_WHOLE_BYTES = 10 * MIB;

/**
 * Returns a file of the user in base64, and deletes it.
 * @throws GatehouseError `upstream_too_large`, `file_not_found`
 */
export async function takeFile(
  { context, grant }: Pick<ToolScope, 'context' | 'grant'>,
  fileId: string,
): Promise<string> {
  const { environment, userId = '' } = grant;
  const file = await requireFile(context, { environment, userId }, fileId);
  const chunks: Buffer[] = [];
  if (file.size <= MAX_WHOLE_BYTES) for await (const chunk of contentOf(context, file)) chunks.push(chunk);
  await deleteFile(context.db, fileId);
  if (file.size > MAX_WHOLE_BYTES) throw tooLarge(MAX_WHOLE_BYTES);
  return Buffer.concat(chunks).toString('base64');
}
