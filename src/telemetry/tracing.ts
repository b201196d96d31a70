/** Headers of a trace: traceparent and its companions (W3C Trace Context, W3C Baggage). */
export type TraceHeaders = Readonly<Record<string, string>>;

export type SpanAttributes = Readonly<Record<string, string | number>>;

/** A part of a trace while its work runs. */
export interface Span {
  readonly traceId: string | undefined;
  /** Headers with which a callee continues the trace from this span; undefined when the span is not recorded. */
  readonly headers: TraceHeaders | undefined;
  /** Adds facts that are known later. Attributes never hold ids of people, tokens, inputs or results. */
  note(facts: { name?: string; attributes?: SpanAttributes }): void;
  /** Marks the span as failed. `type` is a code or a status. */
  fail(type: string): void;
}

export interface SpanOptions {
  name: string;
  kind: 'server' | 'client' | 'internal';
  attributes?: SpanAttributes;
  /** When it began, ms of performance.now(). Default: now. */
  startedAt?: number;
  /** Headers or `_meta` of a caller. A valid trace in them is continued, and the current span becomes a link. */
  parent?: Readonly<Record<string, unknown>> | undefined;
}

/** Records traces. Without OTLP it only runs the work. */
export interface Tracing {
  /** Whether spans are recorded. Hot paths check it, because a span costs 200 ns even where none is. */
  readonly traces: boolean;
  /** Runs work in a span, which is a child of the current one. An error of the work fails the span. */
  span<T>(options: SpanOptions, work: (span: Span) => Promise<T>): Promise<T>;
  /** Adds facts to the current span. */
  note: Span['note'];
  /** Returns whether an app at this origin may see the ids of our traces. */
  reaches(origin: string): boolean;
}

const NO_SPAN: Span = { traceId: undefined, headers: undefined, note: () => {}, fail: () => {} };

export const NO_TRACING: Tracing = {
  traces: false,
  span: (_options, work) => work(NO_SPAN),
  note: () => {},
  reaches: () => false,
};
