import type { components } from '../../data/api-types.ts';

type Body = components['schemas']['Error'];

/** The codes of Gatehouse's errors. */
export type ErrorCode = Body['code'];

/** The error of an answer that is not a success. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** HTTP status. */
  readonly status: number;
  /** The stable code; undefined where the answer is not one of Gatehouse, but of a proxy before it. */
  readonly code: ErrorCode | undefined;
  readonly details: Record<string, unknown>;
  /** Id of the request, as in Gatehouse's log. */
  readonly requestId: string | undefined;
  /** Seconds until the request may be sent again; undefined when the service does not say. */
  readonly retryAfterSeconds: number | undefined;

  constructor(status: number, body: Partial<Body>, retryAfterSeconds?: number) {
    super(body.error ?? `The service answered ${status} without an error of Gatehouse.`);
    this.status = status;
    this.code = body.code;
    this.details = body.details ?? {};
    this.requestId = body.requestId;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** Reads the error of an answer, of Gatehouse or of a proxy. */
export async function errorOf(response: Response): Promise<ApiError> {
  const wait = Number(response.headers.get('retry-after') ?? Number.NaN);
  return new ApiError(
    response.status,
    bodyOf(await response.text()),
    Number.isFinite(wait) ? wait : undefined,
  );
}

function bodyOf(text: string): Partial<Body> {
  try {
    const body = JSON.parse(text);
    return typeof body?.error === 'string' && typeof body.code === 'string' ? body : {};
  } catch {
    return {};
  }
}
