import { connect as connectTcp, isIP } from 'node:net';
import { hostname } from 'node:os';
import { connect as connectTls } from 'node:tls';
import { callRemote } from '../outbound/outbound-remote.ts';
import type { JsonObject } from '../lib/json.ts';
import { CommandError } from './faults.ts';
import { AUDIT, pagesOf, type Filters } from './record-kinds.ts';
import type { Service } from './service.ts';
import { textOf } from './table.ts';
import { version } from './version.ts';

export interface ExportOptions {
  format: 'jsonl' | 'ocsf';
  /** Address that takes the lines; standard output when left out. */
  to?: string | undefined;
}

/** Takes lines of the export, one page at a time. */
interface Receiver extends AsyncDisposable {
  take(lines: readonly Line[]): Promise<void>;
}

interface Line {
  text: string;
  entry: JsonObject;
}

/** Runs `gatehouse audit export`. */
export async function exportAudit(
  service: Service,
  { format, to, filters }: ExportOptions & { filters: Filters },
): Promise<number> {
  let count = 0;
  await using receiver = await openReceiver(to);
  for await (const entries of pagesOf(service, AUDIT, filters)) {
    await receiver.take(
      entries.map((entry) => ({ entry, text: JSON.stringify(format === 'ocsf' ? ocsfOf(entry) : entry) })),
    );
    count += entries.length;
  }
  process.stderr.write(`Exported ${count} entries.\n`);
  return 0;
}

async function openReceiver(to: string | undefined): Promise<Receiver> {
  if (to === undefined) {
    return {
      async take(lines) {
        for (const { text } of lines) process.stdout.write(`${text}\n`);
      },
      async [Symbol.asyncDispose]() {},
    };
  }
  return new URL(to).protocol.startsWith('http') ? httpReceiver(to) : syslogReceiver(new URL(to));
}

function httpReceiver(to: string): Receiver {
  return {
    async take(lines) {
      if (lines.length === 0) return;
      const { status, body } = await callRemote(to, {
        method: 'POST',
        headers: { 'content-type': 'application/x-ndjson' },
        body: lines.map(({ text }) => `${text}\n`).join(''),
      });
      await body.dump();
      if (status >= 300) throw new CommandError(`${new URL(to).origin} refused the entries with ${status}.`);
    },
    async [Symbol.asyncDispose]() {},
  };
}

const FACILITY_LOG_AUDIT = 13;
const SEVERITY_NOTICE = 5;

/** Sends messages of RFC 5424 over TCP or TLS, each with its length before it (RFC 6587, 3.4.1; RFC 5425). */
async function syslogReceiver({ protocol, hostname: host, port }: URL): Promise<Receiver> {
  const isTls = protocol === 'syslogs:';
  const at = { host: host.replace(/^\[(.*)\]$/, '$1'), port: Number(port) || (isTls ? 6514 : 601) };
  const socket = isTls
    ? connectTls({ ...at, ...(isIP(at.host) ? {} : { servername: at.host }) })
    : connectTcp(at);
  const failed = new Promise<never>((_resolve, reject) => {
    socket.once('error', (error) =>
      reject(new CommandError(`The syslog server ${at.host}:${at.port} failed: ${error.message}.`)),
    );
  });
  failed.catch(() => {});
  await Promise.race([
    new Promise<void>((resolve) => socket.once(isTls ? 'secureConnect' : 'connect', () => resolve())),
    failed,
  ]);
  return {
    async take(lines) {
      for (const { text, entry } of lines) {
        const message = Buffer.from(
          `<${FACILITY_LOG_AUDIT * 8 + SEVERITY_NOTICE}>1 ${textOf(entry['at'])} ${hostname()} gatehouse ${process.pid} audit - ${text}`,
        );
        const written = new Promise<void>((resolve) => {
          socket.write(Buffer.concat([Buffer.from(`${message.length} `), message]), () => resolve());
        });
        await Promise.race([written, failed]);
      }
    },
    async [Symbol.asyncDispose]() {
      if (socket.destroyed) return;
      const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
      socket.end();
      socket.resume();
      await Promise.race([closed, failed]).catch(() => {});
    },
  };
}

const API_ACTIVITY = 6003;
const ACTIVITIES: [RegExp, number][] = [
  [/^(create|install|add|submit|upload)/, 1],
  [/^(get|list|read|show)/, 2],
  [/^(delete|revoke|end|uninstall|remove)/, 4],
];
const UPDATE = 3;

/** Returns an entry as event of the class API Activity (https://schema.ocsf.io/1.3.0/classes/api_activity). */
function ocsfOf(entry: JsonObject): JsonObject {
  const operation = textOf(entry['operation']);
  const [, activity] = ACTIVITIES.find(([pattern]) => pattern.test(operation)) ?? [undefined, UPDATE];
  const status = Number(entry['status']);
  const { auditId, at, requestId, caller, keyName, personName, target, hash, previousHash } = entry;
  return {
    category_uid: 6,
    class_uid: API_ACTIVITY,
    activity_id: activity,
    type_uid: API_ACTIVITY * 100 + activity,
    severity_id: 1,
    time: Date.parse(textOf(at)),
    status_id: status < 400 ? 1 : 2,
    status_code: String(status),
    metadata: {
      version: '1.3.0',
      uid: auditId ?? null,
      correlation_uid: requestId ?? null,
      product: { name: 'Gatehouse', vendor_name: 'Gatehouse', version: version() },
    },
    actor: { user: { uid: caller ?? null, name: personName ?? keyName ?? textOf(caller) } },
    api: { operation, request: { uid: requestId ?? null }, response: { code: status } },
    src_endpoint: { svc_name: 'gatehouse' },
    resources: target === null || target === undefined ? [] : [{ uid: target }],
    unmapped: { hash: hash ?? null, previousHash: previousHash ?? null },
  };
}
