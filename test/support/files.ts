import { asObject, parseJson } from '../../src/lib/json.ts';
import type { Service } from './service.ts';

/** Stores a file of a user over REST, and returns its id. */
export async function storeFile(
  service: Pick<Service, 'url' | 'developmentKey'>,
  file: { userId: string; content: Buffer | string; name?: string | undefined; type?: string | undefined },
): Promise<string> {
  const { userId, content, name, type = 'application/octet-stream' } = file;
  const query = new URLSearchParams({ userId, ...(name === undefined ? {} : { name }) });
  const sent = await fetch(`${service.url}/files?${query.toString()}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${service.developmentKey}`,
      'x-api-version': '2025-09',
      'content-type': type,
    },
    body: typeof content === 'string' ? content : new Uint8Array(content),
  });
  const { fileId } = asObject(parseJson(await sent.text()));
  if (typeof fileId !== 'string') throw new Error(`the upload ended with ${sent.status}`);
  return fileId;
}
