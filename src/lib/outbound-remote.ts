import { Agent, request, type Dispatcher } from 'undici';

/** An answer of a remote Gatehouse, with its body still to come. */
export interface RemoteAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: Dispatcher.ResponseData['body'];
}

/** HTTP/1.1 alone, as outbound.ts has it: a request that is cancelled takes its connection along. */
let agent: Agent | undefined;

/**
 * Calls the address that the operator typed on the command line: a remote Gatehouse, which may well be on this
 * machine. It is no address of a third party or a tenant, so the guard of outbound calls does not apply.
 */
export async function callRemote(
  url: string,
  options: {
    method: 'GET' | 'POST' | 'DELETE';
    headers: Record<string, string>;
    body?: string;
    signal?: AbortSignal;
  },
): Promise<RemoteAnswer> {
  agent ??= new Agent({ allowH2: false });
  // A tool may work for minutes before it answers; only the connection has a deadline.
  const { statusCode, headers, body } = await request(url, {
    ...options,
    headersTimeout: 0,
    bodyTimeout: 0,
    dispatcher: agent,
  });
  return { status: statusCode, headers, body };
}
