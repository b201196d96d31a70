import type { IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';

/**
 * Returns the address of the client: the connected peer, or the address that trusted proxies forwarded. In
 * X-Forwarded-For the last entry that no trusted proxy wrote counts, because the client itself can forge the earlier
 * ones.
 */
export function clientAddress(req: IncomingMessage, trustedProxies: readonly string[]): string {
  const peer = req.socket.remoteAddress ?? '';
  if (trustedProxies.length === 0 || !isIn(peer, trustedProxies)) return peer;
  const forwarded = String(req.headers['x-forwarded-for'] ?? '')
    .split(',')
    .map((part) => part.trim());
  return forwarded.toReversed().find((part) => ipaddr.isValid(part) && !isIn(part, trustedProxies)) ?? peer;
}

function isIn(address: string, cidrs: readonly string[]): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  return cidrs.some((cidr) => {
    const [net, bits] = ipaddr.parseCIDR(cidr);
    if (parsed instanceof ipaddr.IPv4 && net instanceof ipaddr.IPv4) return parsed.match(net, bits);
    return parsed instanceof ipaddr.IPv6 && net instanceof ipaddr.IPv6 && parsed.match(net, bits);
  });
}
