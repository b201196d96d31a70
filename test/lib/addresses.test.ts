import { createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createAddressGuard, type AllowedAddress } from '../../src/lib/addresses.ts';
import { createOutbound, type Lookup, type Outbound } from '../../src/lib/outbound.ts';

/** Every way to write an address that must not be reached, as the host of a URL. */
const HOSTILE = words(`
  # Loopback: dotted, short, decimal, hexadecimal, octal, mixed, with a trailing dot, percent-encoded.
  127.0.0.1 127.1 127.0.1 127.255.255.254 127.0.0.0 127.000.000.001 127.0.0.1. 2130706433 2130706434
  2147483646 0x7f000001 0x7F000001 0x7f.1 0x7f.0.0.1 0x7f.0x0.0x0.0x1 0177.0.0.1 0177.1 017700000001
  0177.0x0.0.1 127.0x1 127.01 0x7f.0.1 0x7f000001. 2130706433. 0177.0.0.1. 127.1. %31%32%37.0.0.1
  127%2e0%2e0%2e1
  # Unicode digits and dots, which the parser folds.
  ①②⑦.⓪.⓪.① １２７.０.０.１ 127。0。0。1 127．0．0．1 127｡0｡0｡1 ⑯⑨.②⑤④.⑯⑨.②⑤④ １０.０.０.１ ０x7f.1 ⓛocalhost localhost
  LOCALHOST localhost. lOcAlHoSt ｌｏｃａｌｈｏｓｔ
  # Unspecified and "this network".
  0.0.0.0 0 00 0x0 0.0 0.0.0 0.1.2.3 0.255.255.255 000.000.000.000 0.0.0.0.
  # Private networks.
  10.0.0.1 10.1 10.255.255.255 167772161 0x0a000001 012.0.0.1 0xa.1 10.0.0.1. 172.16.0.1 172.31.255.255
  172.16.1 2886729729 0xac100001 0254.020.0.1 172.20.0.1 192.168.0.1 192.168.1.1 192.168.257 3232235521
  0xc0a80001 0300.0250.0.1 192.168.255.255
  # Shared, link-local and reserved.
  100.64.0.1 100.127.255.255 169.254.0.1 169.254.1.1 192.0.0.1 192.0.0.8 192.0.2.1 198.18.0.1
  198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
  4294967295 0xffffffff 192.88.99.1 233.252.0.1
  # Metadata.
  169.254.169.254 2852039166 0xa9fea9fe 0251.0376.0251.0376 169.254.43518 169.254.169.254.
  0xa9.0xfe.0xa9.0xfe 169.0xfea9fe 100.100.100.200 168.63.129.16 169.254.170.2 1684301000
  [fd00:ec2::254] [fd20:ce::254] [::ffff:169.254.169.254] [::169.254.169.254] [::a9fe:a9fe]
  [64:ff9b::169.254.169.254] [64:ff9b::a9fe:a9fe] [2002:a9fe:a9fe::] [64:ff9b:1::a9fe:a9fe]
  # IPv6 loopback and unspecified.
  [::1] [::] [0:0:0:0:0:0:0:1] [0:0:0:0:0:0:0:0] [0000::0001] [::0:1] [0::1] [::0]
  # IPv4 in IPv6: mapped, compatible, translated, NAT64, 6to4, Teredo.
  [::ffff:127.0.0.1] [::ffff:7f00:1] [::FFFF:127.0.0.1] [0:0:0:0:0:ffff:7f00:0001] [::ffff:0:0]
  [::ffff:10.0.0.1] [::ffff:a00:1] [::ffff:192.168.0.1] [::ffff:c0a8:1] [::ffff:172.16.0.1]
  [::127.0.0.1] [::7f00:1] [::10.0.0.1] [::a00:1] [::192.168.1.1] [::2] [::8.8.8.8]
  [::ffff:0:127.0.0.1] [::ffff:0:7f00:1] [::ffff:0:a00:1] [::ffff:0:8.8.8.8] [64:ff9b::127.0.0.1]
  [64:ff9b::7f00:1] [64:ff9b::10.0.0.1] [64:ff9b::8.8.8.8] [64:ff9b:1::7f00:1] [64:ff9b:1::1]
  [64:ff9b:1:ffff::10.0.0.1] [2002:7f00:1::] [2002:7f00:1::1] [2002:a00:1::1] [2002:c0a8:1::1]
  [2002:ac10:1::1] [2002:808:808::1] [2001:0:7f00:1::] [2001::1] [2001:0:53aa:64c:0:0:80ff:fffe]
  [2001:0000:4136:e378:8000:63bf:f5ff:fffe]
  # Other IPv6 that is not public.
  [fe80::1] [fe80::1:2:3:4] [febf::1] [fec0::1] [fc00::1] [fd00::1] [fdff:ffff::1] [ff02::1] [ff0e::1]
  [100::1] [2001:db8::1] [2001:10::1] [2001:20::1] [2001:2::1] [3fff::1] [5f00::1] [4000::1] [8000::1]
  [c000::1] [e000::1] [1::1] [200::1]
`);

/** Public places, in as many forms, that must stay reachable. */
const PUBLIC = words(`
  8.8.8.8 8.8.4.4 1.1.1.1 1.0.0.1 9.9.9.9 134744072 0x08080808 010.010.010.010 8.2056 11.0.0.1
  9.255.255.255 172.15.255.255 172.32.0.1 192.167.255.255 192.169.0.1 126.255.255.255 128.0.0.1
  100.63.255.255 100.128.0.1 169.253.255.255 169.255.0.1 198.17.255.255 198.20.0.1 192.0.1.1 192.0.3.1
  203.0.112.255 203.0.114.1 223.255.255.255 1.2.3.4 168.63.129.17 100.100.100.200.example.com
  52.95.110.1 104.16.0.1 140.82.112.3 151.101.1.69 185.199.108.153 [2001:4860:4860::8888]
  [2606:4700:4700::1111] [2620:fe::fe] [2a00:1450:4001:81b::200e] [2400:cb00:2048:1::1] [2600:1f18::1]
  [2a03:2880:f12f:83:face:b00c::25de] [2001:500:88:200::8] [2c0f:fb50:4002::1] [2800:3f0::1]
  [::ffff:8.8.8.8] [::ffff:808:808] [2001:67c:4e8:f004::9] example.com api.example.com EXAMPLE.com
  example.com. bücher.example xn--bcher-kva.example 127.0.0.1.example.com 10.example.com
  localhost.example.com a.b.c.d.example.com 1e100.net
`);

describe('the guard', () => {
  const strict = createAddressGuard([], false);

  test(`knows ${PUBLIC.length} public forms as such`, () => {
    expect(PUBLIC.length).toBeGreaterThanOrEqual(50);
    const blocked = PUBLIC.filter((host) => !strict.allowsHost(new URL(`https://${host}/`).hostname, 443));
    expect(blocked).toEqual([]);
    const literals = PUBLIC.map((host) => new URL(`https://${host}/`).hostname.replace(/^\[|\]$/g, ''));
    const peers = literals.filter((text) => /^[\d.]+$/.test(text) || text.includes(':'));
    expect(peers.filter((peer) => !strict.allowsPeer(peer, 'api.example.com', 443))).toEqual([]);
  });

  test('lets no allowance reach the addresses that hand out credentials, however they are written', () => {
    const everything: AllowedAddress[] = [
      { kind: 'cidr', address: '0.0.0.0', bits: 0 },
      { kind: 'cidr', address: '::', bits: 0 },
      { kind: 'host', host: '169.254.169.254', port: 80 },
      { kind: 'host', host: '[64:ff9b::a9fe:a9fe]', port: 80 },
      { kind: 'host', host: 'inside.example.com', port: 80 },
    ];
    const open = createAddressGuard(everything, true);
    const metadata = words(`
      169.254.169.254 100.100.100.200 168.63.129.16 169.254.170.2 fd00:ec2::254 fd20:ce::254 ::ffff:169.254.169.254
      ::169.254.169.254 64:ff9b::a9fe:a9fe 64:ff9b:1::a9fe:a9fe 2002:a9fe:a9fe::1 2001:0:1:1::5601:5601 ::ffff:0:a9fe:a9fe
    `);
    expect(metadata.filter((text) => open.allowsPeer(text, 'inside.example.com', 80))).toEqual([]);
    expect(metadata.filter((text) => open.allowsHost(text.includes(':') ? `[${text}]` : text, 80))).toEqual(
      [],
    );
    expect(open.allowsHost('10.0.0.1', 80)).toBe(true);
  });

  test('allows what the operator names and nothing beside it', () => {
    const guard = createAddressGuard(
      [
        { kind: 'cidr', address: '10.1.0.0', bits: 16 },
        { kind: 'host', host: 'crm.internal', port: 8443 },
        { kind: 'host', host: '192.168.7.7', port: 8080 },
      ],
      false,
    );
    expect(guard.allowsHost('10.1.2.3', 443)).toBe(true);
    expect(guard.allowsHost('10.2.0.1', 443)).toBe(false);
    expect(guard.allowsPeer('10.9.9.9', 'crm.internal', 8443)).toBe(true);
    expect(guard.allowsPeer('10.9.9.9', 'crm.internal', 443)).toBe(false);
    expect(guard.allowsPeer('10.9.9.9', 'other.internal', 8443)).toBe(false);
    expect(guard.allowsHost('192.168.7.7', 8080)).toBe(true);
    expect(guard.allowsHost('192.168.7.7', 8081)).toBe(false);
    expect(guard.allowsPlain('192.168.7.7', 8080)).toBe(true);
    expect(guard.allowsPlain('example.com', 80)).toBe(false);
  });

  test('in development allows loopback and private networks, plain http to loopback alone', () => {
    const guard = createAddressGuard([], true);
    for (const host of ['127.0.0.1', '[::1]', '10.0.0.1', '192.168.0.1', '[fd00::1]']) {
      expect(guard.allowsHost(host, 443)).toBe(true);
    }
    for (const host of ['0.0.0.0', '224.0.0.1', '[64:ff9b::7f00:1]'])
      expect(guard.allowsHost(host, 443)).toBe(false);
    expect(guard.allowsPlain('127.0.0.1', 80)).toBe(true);
    expect(guard.allowsPlain('localhost', 80)).toBe(true);
    expect(guard.allowsPlain('10.0.0.1', 80)).toBe(false);
  });
});

describe('nothing connects', () => {
  let connections = 0;
  const canary = createServer((socket) => {
    connections++;
    socket.destroy();
  });
  let port = 0;
  const open: Outbound[] = [];
  const outbound = (lookup?: Lookup, allowedNetworks: AllowedAddress[] = []) => {
    const one = createOutbound({
      allowedNetworks,
      allowPrivateNetwork: false,
      ...(lookup ? { lookup } : {}),
    });
    open.push(one);
    return one;
  };

  beforeAll(async () => {
    await new Promise<void>((resolve) => canary.listen(0, '::', resolve));
    const address = canary.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    port = address.port;
  });
  afterAll(async () => {
    await Promise.all(open.map((one) => one.close()));
    await new Promise((resolve) => canary.close(resolve));
  });

  test(`by any of ${HOSTILE.length} hostile literals`, async () => {
    expect(HOSTILE.length).toBeGreaterThanOrEqual(150);
    const strict = outbound();
    const through: string[] = [];
    for (const scheme of ['https', 'http']) {
      for (const host of HOSTILE) {
        const refused = await strict
          .request({ method: 'GET', url: `${scheme}://${host}:${port}/`, timeoutMs: 3000 })
          .then(
            () => 'answered',
            (error: unknown) => error,
          );
        const reason = refused instanceof Error && 'details' in refused ? refused.details : refused;
        // Not every resolver knows every spelling of localhost.
        const isName = /localhost/.test(
          URL.canParse(`https://${host}/`) ? new URL(`https://${host}/`).host : '',
        );
        const isBlocked = (isName ? /blocked_address|"dns"/ : /blocked_address/).test(
          JSON.stringify(reason) ?? '',
        );
        if (!isBlocked && URL.canParse(`${scheme}://${host}/`))
          through.push(`${scheme} ${host} ${String(refused)}`);
      }
    }
    expect(through).toEqual([]);
    expect(connections).toBe(0);
  });

  test('through a user name in the address, another scheme, or no address', async () => {
    const strict = outbound();
    for (const url of [
      `https://user@127.0.0.1:${port}/`,
      `https://example.com:443@127.0.0.1:${port}/`,
      `https://example.com%2f@127.0.0.1:${port}/`,
      'file:///etc/passwd',
      'gopher://127.0.0.1/',
      'unix:/var/run/docker.sock',
      'data:text/plain,x',
      'not an address',
      '',
    ]) {
      await expect(strict.request({ method: 'GET', url })).rejects.toMatchObject({
        code: 'invalid_request',
      });
    }
    expect(connections).toBe(0);
  });

  test('to a name with any bad answer, whatever else it resolves to', async () => {
    for (const bad of [
      '127.0.0.1',
      '::1',
      '10.0.0.1',
      '169.254.169.254',
      '::ffff:127.0.0.1',
      '64:ff9b::7f00:1',
    ]) {
      const one = outbound(answering([['8.8.8.8', bad]]));
      const call = one.request({
        method: 'GET',
        url: `https://rebind.example.com:${port}/`,
        timeoutMs: 3000,
      });
      await expect(call).rejects.toMatchObject({
        code: 'upstream_failed',
        details: { reason: 'blocked_address' },
      });
    }
    expect(connections).toBe(0);
  });

  test('to a name that resolves anew between two calls', async () => {
    const rebinding = answering([['10.255.255.1'], ['127.0.0.1']]);
    const one = outbound(rebinding, [{ kind: 'cidr', address: '10.255.255.0', bits: 24 }]);
    const url = `https://rebind.example.com:${port}/`;
    await expect(one.request({ method: 'GET', url, timeoutMs: 300 })).rejects.toMatchObject({
      code: 'upstream_failed',
    });
    await expect(one.request({ method: 'GET', url, timeoutMs: 300 })).rejects.toMatchObject({
      details: { reason: 'blocked_address' },
    });
    expect(connections).toBe(0);
  });

  test('to another port of a name that is allowed at one', async () => {
    const one = outbound(answering([['127.0.0.1']]), [
      { kind: 'host', host: 'crm.internal', port: port + 1 },
    ]);
    const call = one.request({ method: 'GET', url: `https://crm.internal:${port}/`, timeoutMs: 1000 });
    await expect(call).rejects.toMatchObject({ details: { reason: 'blocked_address' } });
    expect(connections).toBe(0);
  });

  test('to our own sandbox, by who is not allowed or beside its folder', async () => {
    const strict = outbound();
    strict.allowSandbox(async () => `http://127.0.0.1:${port}`);
    for (const [path, allowSandbox] of [
      ['/sandbox/x', false],
      ['/api/servers', true],
      ['/sandbox/../api/servers', true],
      ['/sandbox/%2e%2e/api/servers', true],
      ['/sandbox\\..\\api', true],
    ] as const) {
      const url = `https://sandbox.invalid${path}`;
      await expect(
        strict.request({ method: 'GET', url, allowSandbox, timeoutMs: 3000 }),
      ).rejects.toMatchObject({ code: 'upstream_failed' });
    }
    expect(connections).toBe(0);
    await expect(
      strict.request({ method: 'GET', url: 'https://sandbox.invalid/sandbox/x', allowSandbox: true }),
    ).rejects.toMatchObject({ code: 'upstream_failed' });
    expect(connections).toBe(1);
  });
});

/** The words of a text; lines that begin with # are comments. */
function words(text: string): string[] {
  return text
    .split('\n')
    .flatMap((line) => (line.trim().startsWith('#') ? [] : line.split(' ').filter(Boolean)));
}

/** A resolver that gives one answer after the other, the last one from then on. */
function answering(answers: string[][]): Lookup {
  let at = 0;
  return (_name, _options, callback) => {
    const list = answers[Math.min(at++, answers.length - 1)] ?? [];
    callback(
      null,
      list.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
  };
}
