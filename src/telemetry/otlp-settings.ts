/** A signal of OpenTelemetry, and how it is sent. */
export interface Signal {
  url: string;
  headers: Record<string, string>;
  protocol: 'http/protobuf' | 'http/json';
  timeoutMs: number;
  compression: 'gzip' | 'none';
}

export interface Sampling {
  /** Whether the decision of a parent span counts. */
  parentBased: boolean;
  /** Share of the traces without a parent's decision, 0 to 1. */
  ratio: number;
}

/** The settings of OTLP, by the standard variables of OpenTelemetry. */
export interface OtlpSettings {
  traces: (Signal & { sampling: Sampling; delayMs: number }) | undefined;
  metrics: (Signal & { intervalMs: number }) | undefined;
  resource: Record<string, string>;
}

type SignalName = 'TRACES' | 'METRICS';
/** The members of a signal, which the variables set for both signals, or for one of them. */
type Member = 'HEADERS' | 'PROTOCOL' | 'TIMEOUT' | 'COMPRESSION';
type Defaulted =
  | `OTEL_EXPORTER_OTLP_${Exclude<Member, 'HEADERS'>}`
  | `OTEL_${SignalName}_EXPORTER`
  | 'OTEL_BSP_SCHEDULE_DELAY'
  | 'OTEL_METRIC_EXPORT_INTERVAL'
  | 'OTEL_SDK_DISABLED'
  | `OTEL_TRACES_SAMPLER${'' | '_ARG'}`;
type Optional =
  | `OTEL_EXPORTER_OTLP_${'' | `${SignalName}_`}ENDPOINT`
  | `OTEL_EXPORTER_OTLP_${SignalName}_${Member}`
  | 'OTEL_EXPORTER_OTLP_HEADERS'
  | 'OTEL_RESOURCE_ATTRIBUTES'
  | 'OTEL_SERVICE_NAME';

/** Reads a variable; see config.ts. */
type Read = <T>(name: Optional, parse: (text: string) => T, fallback: T) => T;
/** Reads a variable that has a default; see config.ts. */
type ReadOr = <T>(name: Defaulted, parse: (text: string) => T) => T;
interface Readers {
  read: Read;
  readOr: ReadOr;
}

const MAX_TIMEOUT_MS = 60_000;

/**
 * Reads the variables of OpenTelemetry. Without an address nothing else is read, because environments often hold variables of
 * other programs.
 * Source: OpenTelemetry specification, "Environment Variable Specification" and "OTLP Exporter Configuration".
 */
export function readOtlp(read: Read, readOr: ReadOr): OtlpSettings | undefined {
  const base = read('OTEL_EXPORTER_OTLP_ENDPOINT', address, undefined);
  const own = {
    traces: read('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', address, undefined),
    metrics: read('OTEL_EXPORTER_OTLP_METRICS_ENDPOINT', address, undefined),
  };
  if (base === undefined && own.traces === undefined && own.metrics === undefined) return undefined;
  if (readOr('OTEL_SDK_DISABLED', boolean)) return undefined;
  const below = (path: string) => (base === undefined ? undefined : `${base.replace(/\/+$/, '')}/${path}`);
  const traces = signalOf({ read, readOr }, 'TRACES', own.traces ?? below('v1/traces'));
  const metrics = signalOf({ read, readOr }, 'METRICS', own.metrics ?? below('v1/metrics'));
  const serviceName = read<string | undefined>('OTEL_SERVICE_NAME', (text) => text, undefined);
  return {
    traces: traces && {
      ...traces,
      sampling: readSampling(readOr),
      delayMs: readOr('OTEL_BSP_SCHEDULE_DELAY', (text) => milliseconds(text, MAX_TIMEOUT_MS)),
    },
    metrics: metrics && {
      ...metrics,
      intervalMs: readOr('OTEL_METRIC_EXPORT_INTERVAL', (text) => milliseconds(text, 86_400_000)),
    },
    resource: {
      'service.name': 'gatehouse',
      ...read('OTEL_RESOURCE_ATTRIBUTES', pairs, {}),
      ...(serviceName === undefined ? {} : { 'service.name': serviceName }),
    },
  };
}

/** Returns the settings of a signal; undefined when it is not sent. The signal's own variables come before the common ones. */
function signalOf({ read, readOr }: Readers, name: SignalName, url: string | undefined): Signal | undefined {
  const exporters = name === 'TRACES' ? ['otlp', 'none'] : ['otlp', 'prometheus', 'none'];
  const exporter = readOr(`OTEL_${name}_EXPORTER`, (text) => oneOf(text, exporters));
  if (url === undefined || exporter !== 'otlp') return undefined;
  const own = <T>(member: Exclude<Member, 'HEADERS'>, parse: (text: string) => T): T =>
    read(`OTEL_EXPORTER_OTLP_${name}_${member}`, parse, readOr(`OTEL_EXPORTER_OTLP_${member}`, parse));
  return {
    url,
    headers: read(`OTEL_EXPORTER_OTLP_${name}_HEADERS`, pairs, read('OTEL_EXPORTER_OTLP_HEADERS', pairs, {})),
    protocol: own('PROTOCOL', protocol),
    timeoutMs: own('TIMEOUT', (text) => milliseconds(text, MAX_TIMEOUT_MS)),
    compression: own('COMPRESSION', compression),
  };
}

const SAMPLERS = ['always_on', 'always_off', 'traceidratio'];

function readSampling(readOr: ReadOr): Sampling {
  const names = [...SAMPLERS, ...SAMPLERS.map((name) => `parentbased_${name}`)];
  const sampler = readOr('OTEL_TRACES_SAMPLER', (text) => oneOf(text, names));
  const share = readOr('OTEL_TRACES_SAMPLER_ARG', ratio);
  const parentBased = sampler.startsWith('parentbased_');
  if (sampler.endsWith('always_off')) return { parentBased, ratio: 0 };
  return { parentBased, ratio: sampler.endsWith('traceidratio') ? share : 1 };
}

function address(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '') return text;
  throw new Error('must be an http:// or https:// address without a user name; keys belong to the headers');
}

function boolean(text: string): boolean {
  return oneOf(text.toLowerCase(), ['true', 'false']) === 'true';
}

function protocol(text: string): Signal['protocol'] {
  if (text === 'http/protobuf' || text === 'http/json') return text;
  throw new Error(`must be http/protobuf or http/json, got "${text}"; grpc is not supported`);
}

function compression(text: string): Signal['compression'] {
  if (text === 'gzip' || text === 'none') return text;
  throw new Error(`must be gzip or none, got "${text}"`);
}

function ratio(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && value >= 0 && value <= 1) return value;
  throw new Error(`must be a number from 0 to 1, got "${text}"`);
}

function milliseconds(text: string, most: number): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= 1 && value <= most) return value;
  throw new Error(`must be a number of milliseconds from 1 to ${most}, got "${text}"`);
}

function oneOf(text: string, names: readonly string[]): string {
  if (names.includes(text)) return text;
  throw new Error(`must be one of ${names.join(', ')}, got "${text}"`);
}

/** Reads `key=value,key2=value2`. Values are percent-encoded (W3C Baggage). The message of a fault holds no value. */
function pairs(text: string): Record<string, string> {
  const found: [string, string][] = [];
  for (const [index, part] of text.split(',').entries()) {
    if (part.trim() === '') continue;
    const at = part.indexOf('=');
    const name = part.slice(0, at).trim();
    if (at < 1 || name === '') throw new Error(`part ${index + 1} must be a name and a value: name=value`);
    try {
      found.push([name, decodeURIComponent(part.slice(at + 1).trim())]);
    } catch {
      throw new Error(`the value of ${name} must be percent-encoded`);
    }
  }
  return Object.fromEntries(found);
}
