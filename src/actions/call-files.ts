import type { Context } from '../files/context.ts';
import { MAX_FILE_BYTES } from '../files/file-limits.ts';
import { contentOf, requireFile } from '../files/stored-file.ts';
import { storeFile } from '../files/store-file.ts';
import type { Environment } from '../store/environments.ts';
import type { FileStore } from '../upstream/file-store.ts';

/** Returns the files of a call's user; undefined for a call without a user. */
export function fileStoreOf(
  context: Context,
  { environment, userId }: { environment: Environment; userId: string | undefined },
): FileStore | undefined {
  if (userId === undefined) return undefined;
  const owner = { environment, userId };
  return {
    maxBytes: MAX_FILE_BYTES,
    async open(fileId) {
      const file = await requireFile(context, owner, fileId);
      const { size, mediaType, name } = file;
      return { size, mediaType, name, content: (part) => contentOf(context, file, part) };
    },
    save: (file) => storeFile(context, owner, file),
  };
}
