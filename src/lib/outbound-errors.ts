import { GatehouseError } from './errors.ts';

/** A connection that the address guard refused. */
export class BlockedAddress extends Error {
  override readonly name = 'BlockedAddress';
}

type Reason = 'blocked_address' | 'dns' | 'refused' | 'reset' | 'tls' | 'unreachable' | 'protocol';

const SENTENCES = {
  blocked_address:
    'was not called: it leads to a private or reserved address, which GATEHOUSE_ALLOWED_NETWORKS does not allow',
  dns: 'could not be found (DNS)',
  refused: 'refused the connection',
  reset: 'broke the connection',
  tls: 'has no valid TLS certificate',
  unreachable: 'could not be reached',
  protocol: 'did not answer in valid HTTP',
} satisfies Record<Reason, string>;

/**
 * Any failure of an outbound call as an error of ours. Only coarse facts are kept: the text of the original may hold
 * headers or tell a stranger about the network inside.
 */
export function outboundError(
  error: unknown,
  {
    host,
    ended,
    timeoutMs,
  }: { host: string; ended: { aborted: boolean; reason: unknown }; timeoutMs: number },
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
  const reason = reasonOf(error, code);
  return new GatehouseError('upstream_failed', `${host} ${SENTENCES[reason]}.`, {
    details: { host, reason },
  });
}

/** Ours, or that of AbortSignal.timeout(). */
function isTimeout(reason: unknown): boolean {
  return reason === 'timeout' || (reason instanceof Error && reason.name === 'TimeoutError');
}

const TIMEOUTS = new Set([
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'ETIMEDOUT',
]);

function reasonOf(error: unknown, code: string): Reason {
  if (error instanceof BlockedAddress || (error instanceof Error && error.cause instanceof BlockedAddress)) {
    return 'blocked_address';
  }
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'dns';
  if (code === 'ECONNREFUSED') return 'refused';
  if (code === 'ECONNRESET' || code === 'EPIPE' || code === 'UND_ERR_SOCKET') return 'reset';
  if (/^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|EPROTO)/.test(code)) return 'tls';
  // The parser's errors have a code only sometimes.
  if (error instanceof Error && error.name === 'HTTPParserError') return 'protocol';
  // A body that does not decompress is as broken as a head that does not parse.
  if (/^(HPE_|UND_ERR|Z_|ERR_BROTLI|ERR_PADDING|ERR__ERROR)/.test(code)) return 'protocol';
  return 'unreachable';
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  if (error instanceof AggregateError) return codeOf(error.errors[0]);
  if ('code' in error && typeof error.code === 'string') return error.code;
  return error.cause === undefined ? '' : codeOf(error.cause);
}
