import { GatehouseError } from '../lib/errors.ts';

/** A connection that the address guard refused. */
export class BlockedAddress extends Error {
  override readonly name = 'BlockedAddress';
}

/** `details.reason` of calls that failed below HTTP. */
export type OutboundReason =
  | 'blocked_address'
  | 'dns'
  | 'refused'
  | 'reset'
  | 'tls'
  | 'unreachable'
  | 'protocol';

const SENTENCES = {
  blocked_address:
    'was not called: it leads to a private or reserved address, which GATEHOUSE_ALLOWED_NETWORKS does not allow',
  dns: 'could not be found (DNS)',
  refused: 'refused the connection',
  reset: 'broke the connection',
  tls: 'has no valid TLS certificate',
  unreachable: 'could not be reached',
  protocol: 'did not answer in valid HTTP',
} satisfies Record<OutboundReason, string>;

/**
 * Turns any failure of an outbound call into a GatehouseError with coarse facts only. The original text may hold
 * headers, or reveal the internal network to a stranger.
 */
export function outboundError(
  error: unknown,
  {
    host,
    ended,
    timeoutMs,
    headers = {},
  }: {
    host: string;
    ended: { aborted: boolean; reason: unknown };
    timeoutMs: number;
    /** Headers of the request; the error names one that HTTP cannot carry. */
    headers?: Record<string, string> | undefined;
  },
): GatehouseError {
  if (error instanceof GatehouseError) return error;
  const code = codeOf(error);
  if ((ended.aborted && isTimeout(ended.reason)) || TIMEOUTS.has(code)) {
    const seconds = Math.max(1, Math.round(timeoutMs / 1000));
    return new GatehouseError('upstream_timeout', `${host} did not answer within ${seconds} s.`, {
      details: { host },
    });
  }
  if (ended.aborted) {
    return new GatehouseError('upstream_failed', `The call of ${host} was cancelled.`, {
      details: { reason: 'cancelled' },
    });
  }
  if (code === 'UND_ERR_INVALID_ARG') return unsendable(host, headers);
  const reason = reasonOf(error, code);
  return new GatehouseError('upstream_failed', `${host} ${SENTENCES[reason]}.`, {
    details: { host, reason },
  });
}

/**
 * Returns the error for a request that was refused here, before anything was sent. Values of headers may be secrets
 * and stay out.
 */
function unsendable(host: string, headers: Record<string, string>): GatehouseError {
  const faults = Object.entries(headers).flatMap(([name, value]) => faultOfHeader(name, value) ?? []);
  const what = faults[0] ?? 'HTTP does not allow one of its headers, or its method';
  return new GatehouseError('invalid_request', `The request to ${host} was not sent: ${what}.`, {
    details: { host, reason: 'unsendable' },
  });
}

/** Returns the fault of a header (RFC 9110, sections 5.1 and 5.5). */
function faultOfHeader(name: string, value: string): string | undefined {
  if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(name))
    return `${JSON.stringify(name.slice(0, 64))} is no name of a header`;
  if (/[\r\n]/.test(value))
    return `the header "${name}" holds a line break (CR or LF), which no header can carry`;
  if (/[^\t\x20-\x7e\x80-\xff]/.test(value))
    return `the header "${name}" holds a character that no header can carry: a control character, or one beyond Latin-1`;
  return undefined;
}

/** Returns whether the reason is our deadline or that of AbortSignal.timeout(). */
function isTimeout(reason: unknown): boolean {
  return reason === 'timeout' || (reason instanceof Error && reason.name === 'TimeoutError');
}

const TIMEOUTS = new Set([
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'ETIMEDOUT',
]);

function reasonOf(error: unknown, code: string): OutboundReason {
  if (error instanceof BlockedAddress || (error instanceof Error && error.cause instanceof BlockedAddress)) {
    return 'blocked_address';
  }
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'dns';
  if (code === 'ECONNREFUSED') return 'refused';
  if (code === 'ECONNRESET' || code === 'EPIPE' || code === 'UND_ERR_SOCKET') return 'reset';
  if (/^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|EPROTO)/.test(code)) return 'tls';
  // The parser's errors have a code only sometimes.
  if (error instanceof Error && error.name === 'HTTPParserError') return 'protocol';
  // A body that does not decompress is as invalid as a head that does not parse.
  if (/^(HPE_|UND_ERR|Z_|ERR_BROTLI|ERR_PADDING|ERR__ERROR)/.test(code)) return 'protocol';
  return 'unreachable';
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  if (error instanceof AggregateError) return codeOf(error.errors[0]);
  if ('code' in error && typeof error.code === 'string') return error.code;
  return error.cause === undefined ? '' : codeOf(error.cause);
}
