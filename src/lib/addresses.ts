import ipaddr from 'ipaddr.js';

/** A private place that may be reached anyway: a CIDR, or one host and port. */
export type AllowedAddress =
  | { kind: 'cidr'; address: string; bits: number }
  | { kind: 'host'; host: string; port: number };

/** Decides which addresses outbound calls may reach. */
export interface AddressGuard {
  /** Returns whether a host of a URL may be called. Names pass here; their addresses are checked later. */
  allowsHost(host: string, port: number): boolean;
  /** Returns whether an address may be reached that a name resolved to, or that a socket is connected to. */
  allowsPeer(address: string, host: string, port: number): boolean;
  /** Returns whether the operator listed this host, by name or as an address of a listed network. */
  isListed(host: string, port: number): boolean;
  /** Returns whether plain http may be used with this host. */
  allowsPlain(host: string, port: number): boolean;
}

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** `at`: index of the byte at which the IPv4 address begins. */
interface Embedding {
  net: ipaddr.IPv6;
  bits: number;
  at: number;
  inverted?: true;
}

/**
 * Always refused, whatever is allowed: these addresses hand out the credentials of the machine. Sources: the clouds'
 * documentation.
 */
const METADATA = new Set(
  [
    '169.254.169.254',
    '169.254.170.2',
    '100.100.100.200',
    '168.63.129.16',
    'fd00:ec2::254',
    'fd20:ce::254',
  ].map((text) => ipaddr.parse(text).toNormalizedString()),
);
/**
 * The well-known prefix of NAT64 (RFC 6052 section 2.1). In a network with IPv6 alone, every IPv4 host resolves to an
 * address in it, so the IPv4 address inside decides.
 */
const NAT64 = { net: ipaddr.IPv6.parse('64:ff9b::'), bits: 96, at: 12 };
/**
 * Ranges that lead to an IPv4 address inside, and the byte at which it begins: IPv4-compatible (RFC 4291), NAT64 (RFC
 * 6052, RFC 8215), 6to4 (RFC 3056), Teredo (RFC 4380, inverted) and IPv4-translated (RFC 2765).
 */
const EMBEDDING: Embedding[] = [
  { net: ipaddr.IPv6.parse('::'), bits: 96, at: 12 },
  NAT64,
  { net: ipaddr.IPv6.parse('64:ff9b:1::'), bits: 48, at: 12 },
  { net: ipaddr.IPv6.parse('2002::'), bits: 16, at: 2 },
  { net: ipaddr.IPv6.parse('2001::'), bits: 32, at: 12, inverted: true },
  { net: ipaddr.IPv6.parse('::ffff:0:0:0'), bits: 96, at: 12 },
];
/** The range of all global unicast addresses that IANA has assigned; other IPv6 addresses are refused. */
const GLOBAL_UNICAST = ipaddr.IPv6.parse('2000::');

export function createAddressGuard(allowed: AllowedAddress[], allowPrivate: boolean): AddressGuard {
  const cidrs = allowed.flatMap((one): [Address, number][] =>
    one.kind === 'cidr' ? [[ipaddr.parse(one.address), one.bits]] : [],
  );
  const hosts = new Set(
    allowed.flatMap((one) => (one.kind === 'host' ? [`${bare(one.host)}:${one.port}`] : [])),
  );

  const isAllowed = (address: Address): boolean =>
    cidrs.some(([net, bits]) => within(address, net, bits)) || isPublic(address);
  const allows = (address: Address): boolean => {
    if (isMetadata(address)) return false;
    const behind = behindNat64(address);
    if (behind) return isAllowed(behind);
    return isAllowed(address) || (allowPrivate && isPrivate(address));
  };

  const isListed = (host: string, port: number): boolean => {
    const name = bare(host);
    if (hosts.has(`${name}:${port}`)) return true;
    const literal = parse(name);
    return literal !== undefined && cidrs.some(([net, bits]) => within(literal, net, bits));
  };

  return {
    allowsHost(host, port) {
      const name = bare(host);
      const literal = parse(name);
      if (!literal) return isName(name);
      return allows(literal) || (hosts.has(`${name}:${port}`) && !isMetadata(literal));
    },
    isListed,
    allowsPlain(host, port) {
      if (isListed(host, port)) return true;
      const name = bare(host);
      const literal = parse(name);
      return allowPrivate && (name === 'localhost' || literal?.range() === 'loopback');
    },
    allowsPeer(text, host, port) {
      const address = parse(text);
      if (!address) return false;
      return allows(address) || (hosts.has(`${bare(host)}:${port}`) && !isMetadata(address));
    },
  };
}

/**
 * Returns whether a host is a name and not a number. URL parsing turns 0x7f.1 and 2130706433 into dotted IPv4 before
 * this.
 */
function isName(host: string): boolean {
  return host !== '' && !/^[\d.]+$/.test(host) && !host.includes(':');
}

function bare(host: string): string {
  return host
    .toLowerCase()
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '');
}

/** Parses an address. IPv4-mapped IPv6 (::ffff:10.0.0.1) becomes IPv4. */
function parse(text: string): Address | undefined {
  const plain = text.replace(/%.*$/, '');
  return ipaddr.isValid(plain) ? ipaddr.process(plain) : undefined;
}

function isPublic(address: Address): boolean {
  if (address.range() !== 'unicast') return false;
  return (
    address instanceof ipaddr.IPv4 || (address.match(GLOBAL_UNICAST, 3) && embedded(address) === undefined)
  );
}

function isPrivate(address: Address): boolean {
  return ['loopback', 'private', 'uniqueLocal', 'carrierGradeNat', 'linkLocal'].includes(address.range());
}

function isMetadata(address: Address): boolean {
  return METADATA.has(address.toNormalizedString()) || METADATA.has(embedded(address) ?? '');
}

/** Returns the IPv4 address that an IPv6 address leads to, or undefined. */
function embedded(address: Address): string | undefined {
  if (address instanceof ipaddr.IPv4) return undefined;
  const found = EMBEDDING.find(({ net, bits }) => address.match(net, bits));
  return found && dotted(address, found);
}

function behindNat64(address: Address): ipaddr.IPv4 | undefined {
  if (address instanceof ipaddr.IPv4 || !address.match(NAT64.net, NAT64.bits)) return undefined;
  return ipaddr.IPv4.parse(dotted(address, NAT64));
}

function dotted(address: ipaddr.IPv6, { at, inverted }: Embedding): string {
  const bytes = address.toByteArray().slice(at, at + 4);
  return bytes.map((byte) => (inverted ? byte ^ 0xff : byte)).join('.');
}

function within(address: Address, net: Address, bits: number): boolean {
  if (address instanceof ipaddr.IPv4 && net instanceof ipaddr.IPv4) return address.match(net, bits);
  if (address instanceof ipaddr.IPv6 && net instanceof ipaddr.IPv6) return address.match(net, bits);
  return false;
}

/** Returns the host and port of an address, as an entry of the addresses that outgoing calls may reach. */
export function allowedHost(address: string): AllowedAddress & { kind: 'host' } {
  const { hostname: host, port, protocol } = new URL(address);
  return { kind: 'host', host, port: Number(port) || (protocol === 'https:' ? 443 : 80) };
}

/** Returns a host as it stands in a URL: an address of IPv6 in brackets. */
export function urlHost(host: string): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
}

/** Returns whether a host, as a person writes it, is this machine alone. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host);
}
