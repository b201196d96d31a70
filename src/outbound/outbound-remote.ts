import { Agent, request, type Dispatcher } from 'undici';

/** An answer of a remote Gatehouse, with its body still to come. */
export interface RemoteAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: Dispatcher.ResponseData['body'];
}

/** Uses only HTTP/1.1, as outbound.ts does, so that a cancelled request closes its connection. */
let agent: Agent | undefined;

/**
 * Calls the address that the operator typed on the command line: a remote Gatehouse, which may be on this machine. The
 * guard of outbound calls does not apply, because neither a third party nor a tenant gave the address.
 */
export async function callRemote(
  url: string,
  options: {
    method: 'GET' | 'POST' | 'PUT' | 'DELETE';
    headers: Record<string, string>;
    body?: string;
    signal?: AbortSignal;
  },
): Promise<RemoteAnswer> {
  agent ??= new Agent({ allowH2: false });
  // A tool may work for minutes before it answers, so only the connection has a deadline.
  const { statusCode, headers, body } = await request(url, {
    ...options,
    headersTimeout: 0,
    bodyTimeout: 0,
    dispatcher: agent,
  });
  return { status: statusCode, headers, body };
}
