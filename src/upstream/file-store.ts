import type { StreamedBody } from '../outbound/outbound-dispatch.ts';

/** A file as input of a call. */
export interface SentFile extends StreamedBody {
  /** Yields the content, or a part of it. `to` is the end of the part, which it does not include. */
  content(part?: { from: number; to: number }): AsyncIterable<Uint8Array>;
  mediaType: string;
  name: string | undefined;
}

/** The files of one user, as the port of calls to the store. */
export interface FileStore {
  /** The largest file, bytes. */
  readonly maxBytes: number;
  /** @throws GatehouseError `file_not_found` */
  open(fileId: string): Promise<SentFile>;
  /**
   * Stores the content of an answer.
   * @throws GatehouseError `limit_reached`, `payload_too_large`, and every error of the content.
   */
  save(file: {
    content: AsyncIterable<Uint8Array>;
    mediaType: string;
    announced?: number | undefined;
  }): Promise<{ fileId: string; size: number }>;
}
