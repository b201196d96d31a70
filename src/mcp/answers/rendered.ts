/** A result that is JSON already, as text or bytes. It is sent instead of the SDK's copy. */
export class Rendered {
  readonly result: string | Buffer;
  /** Whether a tool failed. */
  readonly failed: boolean;

  constructor(result: string | Buffer, failed = false) {
    this.result = result;
    this.failed = failed;
  }
}
