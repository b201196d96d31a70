import { readFileSync } from 'node:fs';
import { Decrypter, Encrypter } from 'age-encryption';
import { thrownMessage } from '../lib/errors.ts';
import { BackupError, BROKEN } from './backup-format.ts';

/** Encrypts a backup, in the format of the program age: https://age-encryption.org/v1. */
export interface Encryption {
  encrypt(plain: AsyncIterable<Uint8Array>): Promise<AsyncIterable<Uint8Array>>;
}

export interface Decryption {
  decrypt(sealed: AsyncIterable<Uint8Array>): Promise<AsyncIterable<Uint8Array>>;
}

/** First bytes of an encrypted backup. */
export const AGE = Buffer.from('age-encryption.org/v1');

/** Creates the encryption by a passphrase or for recipients. @throws BackupError naming a recipient that is not valid. */
export function createEncryption(by: { passphraseFile: string } | { recipients: string[] }): Encryption {
  const encrypter = new Encrypter();
  if ('passphraseFile' in by) encrypter.setPassphrase(passphraseOf(by.passphraseFile));
  else {
    for (const recipient of by.recipients) {
      try {
        encrypter.addRecipient(recipient);
      } catch (cause) {
        throw new BackupError(
          `--recipient must be the public key of age-keygen, age1…: ${thrownMessage(cause)}`,
          { cause },
        );
      }
    }
  }
  return { encrypt: (plain) => encrypter.encrypt(ReadableStream.from(plain)) };
}

/** Creates the decryption by a passphrase or a file of identities. @throws BackupError when the file holds none. */
export function createDecryption(by: { passphraseFile: string } | { identityFile: string }): Decryption {
  const decrypter = new Decrypter();
  const what = 'passphraseFile' in by ? 'this passphrase' : 'the identities of this file';
  if ('passphraseFile' in by) decrypter.addPassphrase(passphraseOf(by.passphraseFile));
  else for (const identity of identitiesOf(by.identityFile)) decrypter.addIdentity(identity);
  return {
    async decrypt(sealed) {
      try {
        return broken(await decrypter.decrypt(ReadableStream.from(sealed)));
      } catch (cause) {
        if (cause instanceof BackupError) throw cause;
        throw new BackupError(
          `The backup does not open with ${what}, or its beginning was altered. Nothing was restored.`,
          { cause },
        );
      }
    },
  };
}

async function* broken(plain: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  try {
    yield* plain;
  } catch (cause) {
    throw new BackupError(BROKEN, { cause });
  }
}

function passphraseOf(file: string): string {
  const passphrase = read(file).replace(/\r?\n$/, '');
  if (passphrase === '') throw new BackupError(`The passphrase file ${file} is empty.`);
  return passphrase;
}

function identitiesOf(file: string): string[] {
  const identities = read(file)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line.startsWith('AGE-SECRET-KEY-'));
  if (identities.length > 0) return identities;
  throw new BackupError(
    `The file ${file} holds no identity: a line AGE-SECRET-KEY-1…, as age-keygen writes it.`,
  );
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new BackupError(`Cannot read ${file}: ${thrownMessage(cause)}`, { cause });
  }
}
