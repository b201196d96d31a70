import { GatehouseError } from '../lib/errors.ts';
import type { Json } from '../lib/json.ts';
import { secretsIn } from '../lib/scrub.ts';
import type { UpstreamContext } from './call.ts';
import { collected, discard, fileOf, storedFile } from './file-answer.ts';
import { parseAnswer } from './large-answers.ts';
import type { UpstreamCall } from './upstream-call.ts';

/**
 * Downloads from an address in an answer of the app, such as a pre-signed one. The credential is not sent, and the
 * address passes the same guard as every outgoing call.
 * @throws GatehouseError upstream_*
 */
export async function download(
  { outbound, throttle }: UpstreamContext,
  call: UpstreamCall,
  { url, body, timeoutMs }: { url: string; body: 'json' | 'file'; timeoutMs: number },
): Promise<Json> {
  const { connector, credential, files, signal } = call;
  using place = throttle.place(call);
  const answer = await outbound.stream({
    place,
    method: 'GET',
    url,
    headers: { accept: '*/*', 'user-agent': 'Gatehouse/0.1' },
    timeoutMs,
    followRedirects: true,
    ...(body === 'file' && files ? { maxBytes: files.maxBytes } : {}),
    ...(signal ? { signal } : {}),
  });
  const { status, headers } = answer;
  const details = { status, connectorId: connector.connectorId };
  if (status >= 300) {
    await discard(answer.body);
    throw new GatehouseError(
      'upstream_failed',
      `${connector.name} did not return the file (HTTP ${status}).`,
      {
        details,
      },
    );
  }
  const secrets = Object.values(credential?.values ?? {});
  if (body === 'file' && files) {
    const stored = await storedFile(files, { headers, content: answer.body, secrets, place });
    return stored.body;
  }
  const bytes = await collected(answer.body);
  if (body === 'file') return fileOf(headers['content-type'] ?? '', bytes, secretsIn(bytes, secrets));
  try {
    return await parseAnswer(bytes, throttle.pause);
  } catch (error) {
    if (error instanceof GatehouseError) throw error;
    throw new GatehouseError('upstream_failed', `${connector.name} returned a file that is not JSON.`, {
      details: { ...details, reason: 'not_json' },
      cause: error,
    });
  }
}
