import ipaddr from 'ipaddr.js';

/** A place that may be reached although it is private: a CIDR, or one host and port. */
export type AllowedAddress =
  | { kind: 'cidr'; address: string; bits: number }
  | { kind: 'host'; host: string; port: number };

/** Decides which addresses outbound calls may reach. */
export interface AddressGuard {
  /** A host as it stands in a URL. Names pass here and are judged by their addresses. */
  allowsHost(host: string, port: number): boolean;
  /** An address that a name resolved to, or that a socket is connected to. */
  allowsPeer(address: string, host: string, port?: number): boolean;
  /** Whether plain http may be spoken with this host. */
  allowsPlain(host: string, port: number): boolean;
}

const MAX_JUDGED = 1000;

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Never, whatever is allowed: they hand out the credentials of the machine. Sources: the clouds' documentation. */
const METADATA = ['169.254.169.254', '169.254.170.2', '100.100.100.200', '168.63.129.16', 'fd00:ec2::254', 'fd20:ce::254'].map((text) =>
  ipaddr.parse(text).toNormalizedString(),
);
/** Ranges that ipaddr.js calls unicast, and that lead to IPv4 addresses inside. */
const EMBEDDING = ['::/96', '64:ff9b::/96', '64:ff9b:1::/48', '2002::/16', '2001::/32', '::ffff:0:0:0/96'].map((cidr) =>
  ipaddr.parseCIDR(cidr),
);

export function createAddressGuard(allowed: AllowedAddress[], allowPrivate: boolean): AddressGuard {
  const cidrs = allowed.flatMap((one): [Address, number][] =>
    one.kind === 'cidr' ? [[ipaddr.parse(one.address), one.bits]] : [],
  );
  const hosts = new Set(allowed.flatMap((one) => (one.kind === 'host' ? [`${bare(one.host)}:${one.port}`] : [])));
  const hostNames = new Set(allowed.flatMap((one) => (one.kind === 'host' ? [bare(one.host)] : [])));

  const allows = (address: Address): boolean => {
    if (isMetadata(address)) return false;
    if (cidrs.some(([net, bits]) => within(address, net, bits))) return true;
    if (isPublic(address)) return true;
    return allowPrivate && isPrivate(address);
  };

  const judgeHost = (host: string, port: number): boolean => {
    const name = bare(host);
    const literal = parse(name);
    if (!literal) return isName(name);
    return allows(literal) || (hosts.has(`${name}:${port}`) && !isMetadata(literal));
  };
  // Asked at every call; what a host is called says the same every time.
  const judged = new Map<string, boolean>();

  return {
    allowsHost(host, port) {
      const key = `${host}:${port}`;
      const known = judged.get(key);
      if (known !== undefined) return known;
      if (judged.size >= MAX_JUDGED) judged.clear();
      const verdict = judgeHost(host, port);
      judged.set(key, verdict);
      return verdict;
    },
    allowsPeer(text, host, port) {
      const address = parse(text);
      if (!address) return false;
      const name = bare(host);
      const named = port === undefined ? hostNames.has(name) : hosts.has(`${name}:${port}`);
      return allows(address) || (named && !isMetadata(address));
    },
    allowsPlain(host, port) {
      const name = bare(host);
      if (hosts.has(`${name}:${port}`)) return true;
      const literal = parse(name);
      if (literal && cidrs.some(([net, bits]) => within(literal, net, bits))) return true;
      return allowPrivate && (name === 'localhost' || literal?.range() === 'loopback');
    },
  };
}

/** A name, and no number in disguise: URL parsing turns 0x7f.1 and 2130706433 into dotted IPv4 before this. */
function isName(host: string): boolean {
  return host !== '' && !/^[\d.]+$/.test(host) && !host.includes(':');
}

function bare(host: string): string {
  return host.toLowerCase().replace(/^\[|\]$/g, '').replace(/\.$/, '');
}

/** The address, IPv4 in IPv6 clothes (::ffff:10.0.0.1) undressed. */
function parse(text: string): Address | undefined {
  const plain = text.replace(/%.*$/, '');
  return ipaddr.isValid(plain) ? ipaddr.process(plain) : undefined;
}

function isPublic(address: Address): boolean {
  if (address.range() !== 'unicast') return false;
  return !EMBEDDING.some(([net, bits]) => within(address, net, bits));
}

function isPrivate(address: Address): boolean {
  return ['loopback', 'private', 'uniqueLocal', 'carrierGradeNat', 'linkLocal'].includes(address.range());
}

function isMetadata(address: Address): boolean {
  return METADATA.includes(address.toNormalizedString());
}

function within(address: Address, net: Address, bits: number): boolean {
  if (address instanceof ipaddr.IPv4 && net instanceof ipaddr.IPv4) return address.match(net, bits);
  if (address instanceof ipaddr.IPv6 && net instanceof ipaddr.IPv6) return address.match(net, bits);
  return false;
}

/** Whether a host, as a person writes it, is this machine alone. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host);
}
