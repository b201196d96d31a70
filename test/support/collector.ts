import { createServer, type IncomingHttpHeaders } from 'node:http';
import { z } from 'zod';

/** A request of an exporter. */
interface Export {
  path: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

const attribute = z.object({
  key: z.string(),
  value: z.looseObject({
    stringValue: z.string().optional(),
    intValue: z.union([z.number(), z.string()]).optional(),
    doubleValue: z.number().optional(),
  }),
});
const attributes = z
  .array(attribute)
  .transform((list): Record<string, string | number | undefined> =>
    Object.fromEntries(
      list.map(({ key, value }) => [key, value.stringValue ?? value.doubleValue ?? Number(value.intValue)]),
    ),
  );
const resource = z.looseObject({ attributes });
const span = z.looseObject({
  traceId: z.string().length(32),
  spanId: z.string().length(16),
  parentSpanId: z.string().optional(),
  name: z.string(),
  kind: z.number(),
  startTimeUnixNano: z.string(),
  endTimeUnixNano: z.string(),
  attributes,
  links: z.array(z.looseObject({ traceId: z.string(), spanId: z.string() })).default([]),
  status: z.looseObject({ code: z.number().optional() }),
});
const point = z.looseObject({
  attributes,
  asDouble: z.number().optional(),
  count: z.number().optional(),
  bucketCounts: z.array(z.number()).optional(),
  explicitBounds: z.array(z.number()).optional(),
});
const data = z.looseObject({ dataPoints: z.array(point) });
const metric = z.looseObject({
  name: z.string(),
  unit: z.string(),
  sum: data.extend({ isMonotonic: z.boolean() }).optional(),
  gauge: data.optional(),
  histogram: data.optional(),
});
const traceRequest = z.object({
  resourceSpans: z.array(
    z.looseObject({ resource, scopeSpans: z.array(z.looseObject({ spans: z.array(span) })) }),
  ),
});
const metricRequest = z.object({
  resourceMetrics: z.array(
    z.looseObject({ resource, scopeMetrics: z.array(z.looseObject({ metrics: z.array(metric) })) }),
  ),
});

export type ReceivedSpan = z.infer<typeof span>;

/** A collector of OpenTelemetry on a free port. It parses exports in JSON. */
export interface Collector extends AsyncDisposable {
  readonly url: string;
  readonly exports: Export[];
  /** `hang` never answers. */
  behaviour: 'answer' | 'hang' | 'refuse';
  spans(): ReceivedSpan[];
  /** Returns the newest state of each metric. */
  metrics(): Map<string, z.infer<typeof metric>>;
  /** Attributes of the process that sent the last export. */
  resource(): Record<string, string | number | undefined>;
}

export async function startCollector(): Promise<Collector> {
  const exports: Export[] = [];
  const server = createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => {
      exports.push({ path: req.url ?? '', headers: req.headers, body: Buffer.concat(chunks) });
      if (collector.behaviour === 'refuse') res.writeHead(400).end('no');
      if (collector.behaviour === 'answer')
        res.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((listens) => server.listen(0, '127.0.0.1', listens));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const bodies = (path: string): unknown[] =>
    exports.filter((one) => one.path === path).map(({ body }) => JSON.parse(body.toString()));
  const traces = () => bodies('/v1/traces').flatMap((body) => traceRequest.parse(body).resourceSpans);
  const collector: Collector = {
    url: `http://127.0.0.1:${address.port}`,
    exports,
    behaviour: 'answer',
    spans: () => traces().flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
    metrics: () =>
      new Map(
        bodies('/v1/metrics')
          .flatMap((body) => metricRequest.parse(body).resourceMetrics)
          .flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics))
          .map((one) => [one.name, one]),
      ),
    resource: () => traces().at(-1)?.resource.attributes ?? {},
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
  return collector;
}
