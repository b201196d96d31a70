import type { TraceHeaders } from './tracing.ts';

/** Members that carry a trace, in headers and in `_meta` (SEP-414), with their form (W3C Trace Context, W3C Baggage). */
const MEMBERS: { [name: string]: { shape: RegExp; max: number } } = {
  traceparent: { shape: /^[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/, max: 55 },
  tracestate: { shape: /^[\x20-\x7e]+$/, max: 512 },
  baggage: { shape: /^[\x20-\x7e]+$/, max: 8192 },
};

/** Returns the trace that a caller sent. Drops malformed members, and a tracestate without a traceparent. */
export function traceIn(values: Readonly<Record<string, unknown>>): TraceHeaders | undefined {
  const trace: Record<string, string> = {};
  for (const [name, { shape, max }] of Object.entries(MEMBERS)) {
    const value = values[name];
    if (typeof value === 'string' && value.length <= max && shape.test(value)) trace[name] = value;
  }
  if (trace['traceparent'] === undefined) delete trace['tracestate'];
  return Object.keys(trace).length > 0 ? trace : undefined;
}
