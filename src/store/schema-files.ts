import type { Environment } from './environments.ts';

/** Tables of the files of users. */
export interface FileTables {
  files: {
    file_id: string;
    environment: Environment;
    user_id: string;
    /** Size of the content; the reserved size while the file arrives. */
    bytes: number;
    /** Count of its chunks; 0 while the file arrives. */
    chunks: number;
    /** Data key, media type, name and SHA-256 as JSON, sealed; null while the file arrives. */
    sealed: string | null;
    expires_at: number;
    created_at: number;
  };
  file_chunks: {
    file_id: string;
    /** Counts from 1. */
    chunk: number;
    /** A part of the content, encrypted with the file's data key. */
    content: Buffer;
  };
}
