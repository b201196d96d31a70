import type { JsonObject } from '../lib/json.ts';

/**
 * Returns an error as lines for the operator, one for each fault. Errors that the project throws on purpose contain
 * such lines. They are recognised by their names, so that no module must be loaded to print them.
 */
export function faultLines(error: unknown): string[] {
  if (!(error instanceof Error)) return [String(error)];
  if (OPERATOR_ERRORS.has(error.name)) return error.message.split('\n');
  const at = listening(error);
  if (at && error.message.includes('EADDRINUSE')) {
    return [
      `Port ${at.port} of ${at.address} is in use. Stop what uses it, or choose another: PORT=${nextPort(at.port)} gatehouse serve`,
    ];
  }
  if (at && error.message.includes('EACCES')) {
    return [
      `Port ${at.port} needs more rights than this user has. Choose one from 1024 on: PORT=3000 gatehouse serve`,
    ];
  }
  if (error.message.includes('EADDRNOTAVAIL') || error.message.includes('ENOTFOUND')) {
    return [
      `HOST names no address of this machine (${error.message}). To listen only on this machine: HOST=127.0.0.1`,
    ];
  }
  // The error is unexpected, so its stack is shown.
  return [error.stack ?? error.message];
}

/** Errors whose message is written for the operator, one line for each fault. */
const OPERATOR_ERRORS = new Set([
  'AuthorError',
  'BackupError',
  'ConfigError',
  'ConnectorFileError',
  'GatehouseError',
  'KeyError',
  'SchemaError',
  'CommandError',
  'StoreError',
]);

/** The reason why a command cannot do its work, written for the operator. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}

/** A wrong option of a command, which ends with the exit code of wrong usage. */
export class UsageError extends CommandError {}

/** A refusal of the service, with the stable code and the details of its answer. */
export class RequestRefused extends CommandError {
  readonly code: string;
  readonly details: JsonObject;

  constructor(message: string, { code, details }: { code: string; details: JsonObject }) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

function listening(error: Error): { address: string; port: number } | undefined {
  if (!('syscall' in error) || error.syscall !== 'listen') return undefined;
  if (!('port' in error) || typeof error.port !== 'number') return undefined;
  return { address: 'address' in error ? String(error.address) : 'this machine', port: error.port };
}

function nextPort(port: number): number {
  return port < 65_535 ? port + 1 : 3000;
}
