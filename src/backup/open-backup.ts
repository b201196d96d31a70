import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { createGunzip } from 'node:zlib';
import { thrownMessage } from '../lib/errors.ts';
import { BackupError, BROKEN } from './backup-format.ts';
import { AGE, type Decryption } from './encryption.ts';
import { readDump, type Dump } from './read-dump.ts';
import { through } from './through.ts';

/** Opens a backup, encrypted or not, or an exported file. @throws BackupError when it cannot be read. */
export async function openBackup(file: string, decryption: Decryption | undefined): Promise<Dump> {
  const first = await firstBytes(file);
  const encrypted = first.subarray(0, AGE.length).equals(AGE);
  if (encrypted && !decryption) {
    throw new BackupError(
      'The backup is encrypted. Add the option that decrypts it: --passphrase-file <file>, or --identity-file <file>.',
    );
  }
  const source = createReadStream(file);
  const plain = encrypted && decryption ? await decryption.decrypt(source) : source;
  const zipped = encrypted || (first[0] === 0x1f && first[1] === 0x8b);
  return readDump(zipped ? unzipped(plain) : plain);
}

async function firstBytes(file: string): Promise<Buffer> {
  try {
    await using handle = await open(file, 'r');
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(AGE.length), 0, AGE.length, 0);
    return buffer.subarray(0, bytesRead);
  } catch (cause) {
    throw new BackupError(`Cannot read the backup ${file}: ${thrownMessage(cause)}`, { cause });
  }
}

async function* unzipped(zipped: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* through(zipped, createGunzip());
  } catch (cause) {
    if (cause instanceof BackupError) throw cause;
    throw new BackupError(BROKEN, { cause });
  }
}
